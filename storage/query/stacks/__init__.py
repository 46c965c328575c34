"""Stacks as a prefix tree in memory, and the names of their functions."""
