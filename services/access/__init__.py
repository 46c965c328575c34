"""API tokens, saved views and prices of an installation; answers are those of the HTTP API."""
