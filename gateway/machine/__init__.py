"""The machine and its state, from /proc and /sys: what is not there is not known, never 0."""
