"""Time until `fleetprof up` is ready, and its idle cost."""
