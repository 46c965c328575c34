"""Predicts a program's speed at another clock frequency from measurements at one or a few (DIGEST D1-D8)."""
