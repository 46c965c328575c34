"""Closed days as Parquet, kept longer than PostgreSQL keeps them, and answers out of them by DuckDB."""
