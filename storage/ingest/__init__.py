"""From resolved captures to rows, exactly once per (capture, generation) (storage/ingest/README.md)."""
