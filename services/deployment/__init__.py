"""Install, start, supervise and back up fleetprof on one machine."""
