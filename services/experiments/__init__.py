"""Experiments of programs that share a chip, as operators bring them: files, and what is kept of them."""
