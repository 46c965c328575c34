"""Commands of `fleetprof report`: one model each, with the same result as its route under /api/v1/analysis."""
