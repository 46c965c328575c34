"""What fleetprof promises of its speed, measured beside its peers (`make bench-NAME`)."""
