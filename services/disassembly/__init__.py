"""Instructions of a function with samples, from ingested data, raw captures and the symbolizer's files."""
