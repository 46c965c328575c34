"""Frames of CPython 3.9 to 3.14: read by a BPF program at each sample, named and merged with native frames here."""
