"""The arithmetic of docs/scaling.md: from measured figures to fleets of 10 to 100 000 machines.

    python -m benchmarks.scaling     # writes the figures of docs/scaling.md again, after a benchmark was run

Every figure is a product of ones in `benchmarks/results/`, by the formulas that the page shows.
"""
