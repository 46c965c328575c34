"""PostgreSQL and Valkey run by `fleetprof up` itself: Unix sockets only, data in the state directory."""
