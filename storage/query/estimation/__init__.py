"""The sampling design of visits, their weights, and their amounts in each row."""
