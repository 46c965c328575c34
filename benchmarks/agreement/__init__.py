"""Compare profiles of running programs by the whole product and by `perf` in the same seconds."""
