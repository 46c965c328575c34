"""From resolved captures to rows, exactly once per (capture, generation) (docs/architecture.md)."""
