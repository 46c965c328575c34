"""Write resolved captures as rows, exactly once per (capture, generation) (storage/ingest/README.md)."""
