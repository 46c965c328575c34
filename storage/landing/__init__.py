"""From resolved captures to rows, exactly once per (capture, generation) (storage/landing/README.md)."""
