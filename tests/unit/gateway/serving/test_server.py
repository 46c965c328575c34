"""GIVEN nothing that says otherwise WHEN the server starts THEN a connection is good for ten minutes."""

import inspect

from gateway.serving.server import serve, server_options


def test_a_connection_shows_its_certificate_again_after_ten_minutes():
    assert ("grpc.max_connection_age_ms", 600_000) in server_options()
    age = inspect.signature(serve).parameters["connection_age_s"].default
    assert ("grpc.max_connection_age_ms", 600_000) in server_options(age)
