"""Marks of deploys, for the API and the command line."""
