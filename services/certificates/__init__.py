"""A private certificate authority for the wire between collectors and gateways (DIGEST G7).

`authority` signs, `key_files` keeps files, `register` knows what was issued. A role stands in each certificate as
an URI among its alternative names, `fleetprof:role:collector`, and the extended key usage says which side of a
connection it may be. Not an organisational unit: gRPC hands URIs to a service as they are, the subject only as
one string to take apart; CAs of companies put URIs of their own there too (SPIFFE), while OU is left out of
certificates nowadays (CA/Browser Forum, ballot SC47).
"""
