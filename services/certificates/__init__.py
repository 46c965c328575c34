"""A private certificate authority for connections between collectors and gateways (DIGEST G7).

`authority` signs, `key_files` stores files, `register` records issued certificates. Each certificate contains its role
as a URI among its alternative names, `fleetprof:role:collector`, and its extended key usage states its side of a
connection. The role is not an organisational unit: gRPC passes URIs to a service unchanged, but the subject only as one
string to parse. Company CAs also put their URIs there (SPIFFE), and OU is deprecated in certificates (CA/Browser
Forum, ballot SC47).
"""
