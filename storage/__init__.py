"""Storage: the only code with SQL and with paths of blobs (DIGEST G12-G14)."""
