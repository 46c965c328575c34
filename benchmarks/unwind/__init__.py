"""The gateway's unwinding beside that of `perf script`, on recordings of real programs."""
