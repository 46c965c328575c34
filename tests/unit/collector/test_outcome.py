"""GIVEN how a call ended WHEN it is named THEN the outcome says whose fault it was."""

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.outcome import Reached, of_refusal, of_status, of_timeout, one_line, share
from fleetpb.gateway_pb2 import Refusal
from storage.schema import Outcome

NOWHERE = Reached(connected=False, begun=False)
CONNECTED = Reached(connected=True, begun=False)
BEGUN = Reached(connected=True, begun=True)
Code = grpc.StatusCode


@pytest.mark.parametrize(
    ("code", "details", "reached", "outcome"),
    [
        (Code.UNAVAILABLE, "connection refused", NOWHERE, Outcome.UNREACHABLE),
        (Code.UNAVAILABLE, "socket closed", BEGUN, Outcome.FAILED),
        (Code.CANCELLED, "", BEGUN, Outcome.FAILED),
        (Code.DEADLINE_EXCEEDED, "", NOWHERE, Outcome.UNREACHABLE),
        (Code.DEADLINE_EXCEEDED, "", BEGUN, Outcome.TIMEOUT),
        (Code.PERMISSION_DENIED, "who are you", CONNECTED, Outcome.REFUSED),
        (Code.UNAUTHENTICATED, "", CONNECTED, Outcome.REFUSED),
        (Code.RESOURCE_EXHAUSTED, "Concurrent RPC limit exceeded!", CONNECTED, Outcome.REFUSED),
        (
            Code.RESOURCE_EXHAUSTED,
            "CLIENT: Received message larger than max (5 vs. 4)",
            BEGUN,
            Outcome.GARBAGE,
        ),
        (Code.UNIMPLEMENTED, "Method not found!", CONNECTED, Outcome.GARBAGE),
        (Code.UNKNOWN, "boom", BEGUN, Outcome.FAILED),
    ],
)
def test_statuses(code, details, reached, outcome):
    named, sentence = of_status(code, details, reached)
    assert named == outcome
    assert code.name in sentence


def test_refusals_are_refusals_unless_it_broke():
    assert of_refusal(Refusal(reason=Refusal.TOO_MANY, message="2 captures are taken")) == (
        Outcome.REFUSED,
        "TOO_MANY: 2 captures are taken",
    )
    assert of_refusal(Refusal(reason=Refusal.FAILED))[0] == Outcome.FAILED
    newer = Refusal.FromString(b"\x08\x63")
    assert of_refusal(newer) == (Outcome.REFUSED, "reason 99: the gateway gave no reason")


def test_silence_is_a_timeout_once_there_is_a_connection():
    assert of_timeout(10, NOWHERE)[0] == Outcome.UNREACHABLE
    assert of_timeout(10, CONNECTED) == (Outcome.TIMEOUT, "The gateway did not begin within 10 s.")
    assert of_timeout(10, BEGUN) == (Outcome.TIMEOUT, "The gateway did not finish within 10 s.")


@given(st.text())
def test_foreign_text_becomes_one_short_printable_line(text):
    clean = one_line(text)
    assert len(clean) <= 300
    assert clean.isprintable()
    assert one_line(clean) == clean


@pytest.mark.parametrize(
    ("value", "meant"), [(0.0, 0.0), (1.0, 1.0), (-0.1, None), (1.1, None), (float("nan"), None)]
)
def test_only_a_share_is_a_utilisation(value, meant):
    assert share(value) == meant
