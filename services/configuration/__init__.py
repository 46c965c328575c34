"""Operators' settings: reading the environment, checks, and the values that processes receive."""
