"""Profiles of running programs, taken by the whole product and by `perf` in the same seconds, compared."""
