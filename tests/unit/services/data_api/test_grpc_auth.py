"""GIVEN calls by gRPC WHEN their callers are told apart THEN by what proves their role, which is not given away."""

from pathlib import Path

import pytest

from services.api.problems import Problem
from services.api.request_auth import digest_of
from services.api.tokens import Role
from services.data_api.grpc_auth import GrpcAuth
from tests.access_records import access_of

ONE, OTHER, OPERATOR = "v" * 24, "w" * 24, "o" * 24
VIEWERS = b"fleetprof:role:data-viewer"


class Call:
    """What gRPC says of a call."""

    def __init__(self, token: str = "", certificate: bytes = b"") -> None:
        self._token = token
        self._certificate = certificate

    def auth_context(self):
        shown = {"peer_uri": [VIEWERS], "x509_pem_cert": [self._certificate]}
        return shown if self._certificate else {}

    def invocation_metadata(self):
        return (("authorization", f"Bearer {self._token}"),) if self._token else ()


@pytest.fixture
def callers(tmp_path: Path) -> GrpcAuth:
    tokens = [f"viewer:{ONE}", f"viewer:{OTHER}", f"operator:{OPERATOR}"]
    return GrpcAuth(access_of(tmp_path, tokens), own_user=False)


def test_each_token_and_each_certificate_is_a_caller(callers: GrpcAuth):
    calls = [Call(ONE), Call(OTHER), Call(certificate=b"first"), Call(certificate=b"second")]
    names = [callers.demand(call, Role.VIEWER) for call in calls]
    assert len(set(names)) == len(calls)
    assert [callers.demand(call, Role.VIEWER) for call in calls] == names
    assert names[0] == digest_of(ONE), "the same caller over HTTP"


def test_the_proof_of_the_highest_role_counts(callers: GrpcAuth):
    both = callers.demand(Call(OPERATOR, b"first"), Role.VIEWER)
    assert both == callers.demand(Call(OPERATOR, b"second"), Role.VIEWER) == digest_of(OPERATOR)


def test_whoever_may_open_the_socket_is_one_caller(callers: GrpcAuth):
    socket = GrpcAuth(callers.access, own_user=True)
    assert socket.demand(Call(), Role.ADMIN) == socket.demand(Call(ONE), Role.ADMIN)


def test_a_call_without_a_proof_is_refused(callers: GrpcAuth):
    with pytest.raises(Problem) as refused:
        callers.demand(Call("x" * 24), Role.VIEWER)
    assert refused.value.status == 401
