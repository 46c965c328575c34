"""Resolves (binary, offset) to named frames, offline (DIGEST G11)."""
