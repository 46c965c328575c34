"""What processes without an API of their own tell whoever keeps them running: /healthz, /readyz, /metrics."""
