"""Export of closed days as Parquet, kept longer than PostgreSQL keeps facts, and queries over them with DuckDB."""
