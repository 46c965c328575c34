"""Debug data that lies in several files, made into one file that `symbolic` can read.

Compilers and packagers split it: `dwz -m` moves what several programs share into a common file
(.gnu_debugaltlink), `-gsplit-dwarf` leaves all but addresses and lines in .dwo files or a .dwp package.
`symbolic` reads neither: of the first inlined functions had no names (half of all chains were wrong), of
the second there were no lines at all. Asking libdw address by address gives 500 answers a second, and
unqualified C++ names. Joining is done once, gives linkage names, and what is joined is then looked up like
everything else.

| module | noun |
|---|---|
| `abbreviations` | what entries of each code consist of |
| `walk` | a walk over all entries of a unit that adds to what points elsewhere |
| `alternate` | a file with what dwz moved out of it |
| `split` | skeletons with their other halves |
| `rewrite` | an ELF file with other sections |
| `child`, `joiner` | the process that does it within limits, and whoever starts that |
"""
