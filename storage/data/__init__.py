"""Raw captures and symbolized profiles of a selection, page by page, for external programs (DIGEST G19)."""
