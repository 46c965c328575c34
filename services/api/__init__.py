"""The HTTP API under /api/v1, and the web UI."""
