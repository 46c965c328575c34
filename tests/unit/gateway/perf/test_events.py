"""GIVEN an errno of perf_event_open WHEN it is judged THEN a person learns whether a privilege is missing."""

import errno
import math

import pytest

from fleetpb import capture_pb2
from gateway.perf import events
from gateway.perf.attributes import Attributes, Flag
from gateway.perf.events import CYCLES, EVENTS, NANOSECONDS, probe, support_of, unavailable


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (0, "OK"),
        (errno.EACCES, "DENIED"),
        (errno.EPERM, "DENIED"),
        (errno.ENOSYS, "DENIED"),
        (errno.EBUSY, "BUSY"),
        (errno.ENOENT, "UNSUPPORTED"),
        (errno.EOPNOTSUPP, "UNSUPPORTED"),
        (errno.ENODEV, "UNSUPPORTED"),
        (errno.EINVAL, "UNSUPPORTED"),
        (errno.E2BIG, "UNSUPPORTED"),
        (errno.EMFILE, "DENIED"),
        (errno.ENFILE, "BUSY"),
    ],
)
def test_an_errno_has_a_verdict(code: int, verdict: str):
    assert capture_pb2.Support.Name(support_of(code)) == f"SUPPORT_{verdict}"


@pytest.mark.parametrize("own", [False, True])
def test_a_probe_gives_the_errno_of_the_refusal(monkeypatch: pytest.MonkeyPatch, own: bool):
    asked: list[tuple[Attributes, int, int]] = []

    def refuse(attributes: Attributes, *, pid: int, cpu: int) -> int:
        asked.append((attributes, pid, cpu))
        raise OSError(errno.EACCES, "no")

    monkeypatch.setattr(events, "open_event", refuse)
    assert probe(EVENTS["cpu"], own=own) == errno.EACCES
    ((attributes, pid, cpu),) = asked
    assert attributes.flags & Flag.DISABLED
    assert bool(attributes.flags & Flag.EXCLUDE_KERNEL) == own
    assert (pid == 0, cpu == -1) == (own, own)
    assert attributes.sample_period


def test_what_happens_in_the_kernel_only_is_not_asked_for_without_it(monkeypatch: pytest.MonkeyPatch):
    """It would open, and never be seen: 0 context switches are no answer."""
    asked: list[Attributes] = []

    def refuse(attributes: Attributes, *, pid: int, cpu: int) -> int:
        asked.append(attributes)
        raise OSError(errno.EACCES, f"{pid} {cpu}")

    monkeypatch.setattr(events, "open_event", refuse)
    assert probe(EVENTS["context-switches"], own=True) == errno.EACCES
    assert probe(EVENTS["context-switches"], own=False, sampling=False) == errno.EACCES
    assert not asked[0].flags & Flag.EXCLUDE_KERNEL
    assert asked[1].sample_period == 0


def test_the_catalogue_is_keyed_by_name_and_has_a_unit_for_each():
    assert all(name == event.name for name, event in EVENTS.items())
    assert {event.unit for event in EVENTS.values()} == {NANOSECONDS, CYCLES, "count"}
    assert len({(event.type, event.config) for event in EVENTS.values()}) == len(EVENTS)
    assert [name for name, event in EVENTS.items() if event.counts_time] == ["cpu", "cycles", "ref-cycles"]


def test_what_counts_no_time_has_a_prime_period_of_its_own():
    for event in EVENTS.values():
        assert event.counts_time == (event.default_period == 0)
        if event.default_period:
            assert all(
                event.default_period % divisor for divisor in range(2, math.isqrt(event.default_period) + 1)
            )


def test_an_event_that_cannot_be_had_says_what_backs_it():
    error = unavailable(EVENTS["llc-misses"], errno.ENOENT)
    assert error.support == capture_pb2.SUPPORT_UNSUPPORTED
    assert error.errno == errno.ENOENT
    assert str(error) == "llc-misses cannot be sampled here: cache-misses: No such file or directory"
