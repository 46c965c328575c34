"""Names of code that processes generate at run time, from the perf maps that they write.

Such code has no file for a later look-up, and it moves: an address has its meaning only there and then. So the names
are read on the machine while it is sampled, and only those that samples hit leave it.

- `map_entries` finds the line of a map that names an address; `map_file` opens only the map that a process itself
  wrote.
- `perf_map` reads what is appended to a map; `jit_names` holds the maps of one capture.
"""
