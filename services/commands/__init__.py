"""The commands of `fleetprof`, one module each; each imports what it runs only when it runs."""
