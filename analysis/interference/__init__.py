"""Slowdown of a program by others on the same chip, from their pressure on its memory (DIGEST I1-I8)."""
