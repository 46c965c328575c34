"""`make bench-lake`."""
