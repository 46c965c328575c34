"""The machine and its state, from /proc and /sys. A missing file means unknown, never 0."""
