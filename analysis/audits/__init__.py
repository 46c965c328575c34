"""Fleet-wide reports: compilers in use, platform differences, representative load tests (DIGEST G24, G31, G32)."""
