"""PostgreSQL and Valkey run by `fleetprof up` itself: unix sockets only, data in the state directory."""
