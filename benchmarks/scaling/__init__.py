"""The arithmetic of docs/scaling.md: from measured figures to fleets of 10 to 100 000 machines.

    python -m benchmarks.scaling     # updates the tables of docs/scaling.md after a benchmark run

Every figure is a product of figures in `benchmarks/results/`, by the formulas that the page shows.
"""
