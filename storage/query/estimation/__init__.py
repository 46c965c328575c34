"""What visits stand for: the design they were drawn by, their weights, and what they brought to each row."""
