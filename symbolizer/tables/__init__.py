"""Lookup tables from addresses to functions, files and lines."""
