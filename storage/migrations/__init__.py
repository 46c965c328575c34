"""Alembic's revisions; `storage.migrate` runs them."""
