"""A simulated fleet of gateways with known true values, which check fleetprof's numbers (docs/numbers.md)."""
