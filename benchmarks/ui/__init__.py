"""The flame graph in Chromium beside d3-flame-graph and speedscope; `python -m benchmarks.ui`."""
