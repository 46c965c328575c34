"""Sampling by perf_event_open(2): what to open, the rings it writes, the records in them."""
