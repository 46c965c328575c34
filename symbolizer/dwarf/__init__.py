"""Reads enough DWARF to determine what a file contains and what it left to other files."""
