"""ELF files: sections, notes, links, symbols, as hostile input."""
