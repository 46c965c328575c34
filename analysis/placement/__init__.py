"""Which applications should run on which platforms (DIGEST G30)."""
