"""Answering by merged cells: when they can, what they hold, and what is not merged yet."""
