"""GIVEN a caller WHEN its certificate does not say that it may THEN it may not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.roles import Role, parse_caller, permits, roles_of
from gateway.serving.authorisation import Authorisation

METHODS = ("Capture", "Symbols", "Calibrate", "Describe", "Health")
COLLECTOR, VIEWER, GATEWAY, API = (
    f"fleetprof:role:{name}" for name in ("collector", "viewer", "gateway", "api")
)


def identity(*uris, names=(), transport=b"ssl"):
    """As gRPC hands it over."""
    return {
        "transport_security_type": [transport],
        "x509_common_name": [name.encode() for name in names[:1]],
        "x509_subject_alternative_name": [name.encode() for name in (*names[1:], *uris)],
        "peer_uri": [uri.encode() for uri in uris],
    }


def permitted(who, *allowed, sockets=False):
    authorisation = Authorisation(allowed, sockets=sockets)
    return {method for method in METHODS if authorisation.may(who, method)}


@pytest.mark.parametrize(
    ("uris", "methods"),
    [
        ([COLLECTOR], {"Capture", "Symbols", "Calibrate", "Describe", "Health"}),
        ([VIEWER], {"Describe", "Health"}),
        ([VIEWER, COLLECTOR], {"Capture", "Symbols", "Calibrate", "Describe", "Health"}),
        ([GATEWAY], set()),
        ([API], set()),
        ([], set()),
        (["spiffe://example/collector", "fleetprof:role:", "fleetprof:role:Collector", "fleetprof:role:collector/"], set()),
    ],
)  # fmt: skip
def test_a_role_permits_its_methods(uris, methods):
    assert permitted(identity(*uris)) == methods


def test_a_name_alone_is_no_role():
    assert permitted(identity(names=("collector", COLLECTOR))) == set()


def test_names_the_operator_lists_count_and_then_nothing_else():
    listed = (("spiffe://example/fp", Role.COLLECTOR), ("grafana", Role.VIEWER))
    assert permitted(identity("spiffe://example/fp"), *listed) == set(METHODS)
    assert permitted(identity(names=("grafana",)), *listed) == {"Describe", "Health"}
    assert permitted(identity(names=("node", "grafana")), *listed) == {"Describe", "Health"}
    assert permitted(identity(COLLECTOR), *listed) == set()
    assert permitted(identity(names=("grafana.example",)), *listed) == set()


def test_without_tls_only_the_callers_of_a_socket_are_let_in():
    assert permitted(identity(transport=b"insecure")) == set()
    assert permitted(identity(transport=b"insecure"), sockets=True) == set(METHODS)
    for nobody in (
        {},
        identity(COLLECTOR, transport=b"local"),
        {"transport_security_type": [b"ssl", b"insecure"]},
    ):
        assert permitted(nobody, sockets=True) == set()


@given(st.lists(st.sampled_from(Role), max_size=3), st.text())
def test_no_role_permits_an_unknown_method(roles, method):
    assert not permits(roles, method) or method in METHODS


@given(st.lists(st.text()), st.lists(st.text()))
def test_text_that_is_no_role_gives_none(names, uris):
    assert roles_of(names, uris, ()) <= frozenset(Role)
    assert roles_of(names, [uri for uri in uris if not uri.startswith("fleetprof:")], ()) == frozenset()


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("collector.example", ("collector.example", Role.COLLECTOR)),
        ("grafana=viewer", ("grafana", Role.VIEWER)),
        ("spiffe://x/a=b", ("spiffe://x/a=b", Role.COLLECTOR)),
        ("spiffe://x/a=b=viewer", ("spiffe://x/a=b", Role.VIEWER)),
    ],
)
def test_callers_are_read(text, parsed):
    assert parse_caller(text) == parsed


@pytest.mark.parametrize("text", ["", "=viewer", " x", "a\nb"])
def test_what_is_no_caller(text):
    with pytest.raises(ValueError, match="not a name"):
        parse_caller(text)
