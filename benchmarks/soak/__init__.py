"""Everything at once for half an hour: memory stays flat, ingestion keeps pace, nothing fails."""
