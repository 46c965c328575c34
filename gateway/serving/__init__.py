"""The gateway's network side: sockets, socket activation, TLS, roles, the gRPC service."""
