"""Stacks as a prefix tree in memory, and what their functions are called."""
