"""Addresses to functions, files and lines: what is looked up, and how."""
