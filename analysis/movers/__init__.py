"""What changed from one day to the next, and what explains it (DIGEST G21)."""
