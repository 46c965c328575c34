"""Load test of the whole deployment for half an hour: memory stays flat, ingestion keeps pace, nothing fails."""
