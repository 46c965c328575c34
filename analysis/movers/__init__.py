"""Changes between two selections, such as days, and their explanation (DIGEST G21)."""
