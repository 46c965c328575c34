"""The flame graph in Chromium beside d3-flame-graph and speedscope, and pages of a fleet; `python -m benchmarks.ui`."""
