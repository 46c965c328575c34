"""Resolves a capture's frames to named ones: the images of its mappings, looked up in batches."""
