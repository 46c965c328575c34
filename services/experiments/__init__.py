"""Experiments of programs that share a chip: the CSV files that operators upload, and the stored sets."""
