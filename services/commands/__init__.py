"""The commands of `fleetprof`, one module each. A command imports its dependencies only when it runs."""
