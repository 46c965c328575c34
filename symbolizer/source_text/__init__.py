"""The text of the source files that a binary was built from."""
