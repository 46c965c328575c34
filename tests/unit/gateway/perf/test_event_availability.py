"""GIVEN what the kernel answers WHEN an event is judged THEN a person reads the verdict and what to do."""

import errno
import subprocess
import sys

import pytest

from fleetpb import capture_pb2
from gateway.errors import BadEventName
from gateway.perf import event_availability
from gateway.perf.event_availability import (
    Availability,
    check_event,
    check_events,
    check_found_event,
    event_support,
    table,
)
from gateway.perf.event_lookup import GENERIC_NAMES
from gateway.perf.events import EVENTS, Event

CYCLES = EVENTS["cycles"]


def answers(monkeypatch: pytest.MonkeyPatch, sampling: int, counting: int) -> None:
    def probe(_event: Event, **options: bool) -> int:
        return counting if options.get("sampling") is False else sampling

    monkeypatch.setattr(event_availability, "probe", probe)


@pytest.mark.parametrize(
    ("sampling", "counting", "support", "counts_only"),
    [
        (0, 0, "OK", False),
        (errno.ENOENT, errno.ENOENT, "UNSUPPORTED", False),
        (errno.EOPNOTSUPP, 0, "UNSUPPORTED", True),
        (errno.EINVAL, 0, "UNSUPPORTED", True),
        (errno.EACCES, 0, "DENIED", False),
        (errno.EBUSY, 0, "BUSY", False),
    ],
)
def test_an_answer_is_a_verdict(monkeypatch, sampling: int, counting: int, support: str, counts_only: bool):
    answers(monkeypatch, sampling, counting)
    message = check_found_event(CYCLES, own=False).message()
    assert capture_pb2.Support.Name(message.support) == f"SUPPORT_{support}"
    assert (message.event, message.errno, message.counts_only) == ("cycles", sampling, counts_only)
    assert bool(message.source) == (support == "OK" or counts_only)


def test_what_opens_and_never_runs_is_not_counted_in_the_table(monkeypatch):
    answers(monkeypatch, 0, 0)
    monkeypatch.setattr(event_availability, "_runs", lambda _event: False)
    (verdict,) = check_events(["cycles"], own=False)
    assert verdict.support == capture_pb2.SUPPORT_NOT_COUNTED
    assert "hypervisor" in verdict.advice
    (software,) = check_events(["page-faults"], own=False)
    assert software.support == capture_pb2.SUPPORT_OK


def test_a_table_names_the_errno_and_aligns_its_columns():
    ok, denied, counted = capture_pb2.SUPPORT_OK, capture_pb2.SUPPORT_DENIED, capture_pb2.SUPPORT_UNSUPPORTED
    lines = list(
        table([
            Availability("cpu", "cpu-clock", ok),
            Availability("tracepoint:sched:sched_switch", "", denied, errno.EACCES, advice="grant it"),
            Availability("tsc", "msr/tsc/", counted, errno.EINVAL, counts_only=True, advice="count it"),
        ])
    )  # fmt: skip
    assert lines[0].split() == ["event", "verdict", "source", "errno", "what", "to", "do"]
    at = lines[0].index("verdict")
    assert [line[at:].split("  ")[0] for line in lines[1:]] == ["ok", "denied", "counts only"]
    assert lines[2].endswith("EACCES  grant it")
    assert not any(line.endswith(" ") for line in lines)


def test_describe_says_every_generic_event_once():
    assert [one.event for one in event_support(own=False)] == list(GENERIC_NAMES)


def test_what_is_no_name_is_no_verdict():
    with pytest.raises(BadEventName):
        check_event("Faults", own=False)


def test_the_command_prints_this_machines_table_without_listening():
    asked = [sys.executable, "-m", "gateway", "--events", "cpu", "pmu:no-such-source:x"]
    ended = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr
    header, cpu, missing = ended.stdout.splitlines()
    assert header.startswith("event ")
    assert cpu.split()[0] == "cpu"
    assert missing.split()[:2] == ["pmu:no-such-source:x", "unsupported"]
    assert "ENOENT" in missing
    wrong = subprocess.run([*asked[:4], "Faults"], capture_output=True, text=True, check=False, timeout=60)
    assert wrong.returncode == 2
    assert "those look like page-faults" in wrong.stderr
