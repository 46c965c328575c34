"""Reads ELF files as hostile input: sections, notes, links, symbols."""
