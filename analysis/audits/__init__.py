"""Reports about the whole fleet: what built what runs, how platforms differ, what a load test represents (DIGEST G24, G31, G32)."""
