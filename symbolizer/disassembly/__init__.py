"""The instructions of one function: its code ranges, its bytes from an ELF file, decoded, with source lines."""
