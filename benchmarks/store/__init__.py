"""How fast facts of a fleet ingest, how small they are, and how fast they are found again."""
