"""Joins debug data in several files to one file that `symbolic` can read.

Compilers and packagers split debug data: `dwz -m` moves data shared by several programs into a common file
(.gnu_debugaltlink), `-gsplit-dwarf` leaves all but addresses and lines in .dwo files or a .dwp package.
`symbolic` reads neither: with dwz, inlined functions had no names (half of all chains were wrong), and with split
DWARF there were no lines at all. Calling libdw for each address yields 500 addresses a second, and
unqualified C++ names. Joining is done once and keeps linkage names, and the joined file is looked up like any
other.

| module | contents |
|---|---|
| `abbreviations` | the layout of entries by their code |
| `walk` | a walk over all entries of a unit that relocates references |
| `alternate` | joins a file with the file that dwz moved data to |
| `split` | joins skeletons with their split units |
| `rewrite` | writes an ELF file with other sections |
| `child`, `joiner` | the process that joins within limits, and its caller |
"""
