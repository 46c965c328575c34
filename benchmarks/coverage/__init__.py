"""How often the product's intervals contain the truth; `python -m benchmarks.coverage`."""
