"""The only code that knows SQL or the path of a blob (DIGEST G12-G14)."""
