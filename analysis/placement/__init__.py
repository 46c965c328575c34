"""Assignment of applications to platforms (DIGEST G30)."""
