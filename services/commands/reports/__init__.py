"""Commands below `fleetprof report`: one question to a model each, answered as its route under /api/v1/analysis is."""
