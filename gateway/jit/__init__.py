"""Names for code that processes make at run time, from the perf maps that they write beside it.

Such code has no file to look names up in later, and it moves: what lies at an address is known only there
and only then. So the names are read on the machine, while it is sampled, and only those that samples hit
leave it.

`entries` knows which line of a map names an address, `map_file` opens the file a process wrote and no
other, `perf_map` reads what was appended, `naming` holds the maps of one capture.
"""
