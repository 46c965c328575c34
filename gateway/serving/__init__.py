"""Who may ask and how: sockets, the process that waits, TLS, roles, the gRPC service."""
