"""Queries of commands, answered from PostgreSQL or the lake without an API."""
