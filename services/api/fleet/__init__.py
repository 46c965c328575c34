"""The routes of machines, visits and campaigns."""
