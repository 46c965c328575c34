"""Monitoring endpoints of processes without an API: /healthz, /readyz, /metrics."""
