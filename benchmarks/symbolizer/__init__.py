"""`make bench-symbolizer`: names for addresses, beside llvm-symbolizer and addr2line."""
