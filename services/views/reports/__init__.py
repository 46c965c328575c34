"""Answers of models in a terminal, of what the routes under /api/v1/analysis answer."""
