"""What sampling costs those who are sampled."""
