"""Coverage of the product's intervals; `python -m benchmarks.coverage`."""
