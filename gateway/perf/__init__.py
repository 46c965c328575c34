"""Sampling by perf_event_open(2): events, the rings that the kernel writes, and their records."""
