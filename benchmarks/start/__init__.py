"""How long `fleetprof up` takes to be ready, and what it takes while nothing is sampled."""
