"""Ingestion rate, size and query speed of a fleet's facts."""
