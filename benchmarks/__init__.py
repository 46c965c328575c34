"""fleetprof's performance promises, measured beside its peers (`make bench-NAME`)."""
