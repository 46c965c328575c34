"""Everything at once for half an hour: memory stays flat, landing keeps pace, nothing fails."""
