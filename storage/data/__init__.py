"""Raw captures and symbolized profiles of a selection, page by page, for programs elsewhere (DIGEST G19)."""
