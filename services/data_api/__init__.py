"""The data API: raw captures and symbolized profiles by gRPC and HTTP, resumable (DIGEST G19; docs/data-api.md)."""
