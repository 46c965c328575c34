"""Resolves an event name of a plan to this machine's event (DIGEST G8).

Files are read on demand, never at the gateway's start. A name costs a few small files of /sys, and one
perf_event_open where there are two sources for it.
"""

import errno
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from fleetpb import capture_pb2
from gateway.errors import EventUnavailable
from gateway.machine.topology import PROC, SYS
from gateway.perf import tracefs
from gateway.perf.attributes import EventType
from gateway.perf.cpu_models import CHOICES, read_microarchitecture
from gateway.perf.event_names import (
    GenericName,
    RawName,
    SourceName,
    TracepointName,
    parse_event_name,
    parse_terms,
)
from gateway.perf.event_sources import find_in_source, has_source
from gateway.perf.events import COUNT, EVENTS, TRACEPOINT_PERIOD, UNKNOWN_PERIOD, Event, probe

# The CPU's own counters; a hybrid CPU has a source for each kind of core, the first for the large ones.
_CPU_SOURCES: Final = ("cpu", "cpu_core")
_MSR: Final = "msr"
# Model-specific registers that the kernel exposes as counters: actual and nominal unhalted cycles, and time.
_MSR_EVENTS: Final = {"aperf": "cycles", "mperf": "cycles", "tsc": "cycles"}
# The nominal cycles of a CPU whose PMU does not count them (AMD before Zen 4, or Linux before 6.10).
_SUGGESTIONS: Final = {"ref-cycles": "mperf"}

GENERIC_NAMES: Final = tuple(dict.fromkeys((*EVENTS, *CHOICES, *_MSR_EVENTS)))
"""Every generic name, whether or not this machine has it."""


def find_event(
    text: str, *, sys: Path = SYS, proc: Path = PROC, mounts: Sequence[Path] = tracefs.MOUNTS
) -> Event:
    """This machine's event of that name, not opened yet: the capture opens it and handles the kernel's errors.

    Raises BadEventName for an invalid name, and EventUnavailable if this machine lacks the event.
    """
    match parse_event_name(text):
        case GenericName(name):
            return _generic(name, sys, proc)
        case TracepointName() as name:
            number = tracefs.tracepoint_id(name, mounts)
            source = f"{name.subsystem}:{name.name}"
            # A tracepoint fires in the kernel; without the kernel's part there would be none left.
            return Event(
                text,
                source,
                EventType.TRACEPOINT,
                number,
                COUNT,
                default_period=TRACEPOINT_PERIOD,
                in_kernel=True,
            )
        case RawName(config):
            return Event(
                text, f"raw:{config:#x}", EventType.RAW, config, COUNT, default_period=UNKNOWN_PERIOD
            )
        case SourceName() as name:
            return find_in_source(name, text, sys)


def _generic(name: str, sys: Path, proc: Path) -> Event:
    if name in _MSR_EVENTS:
        return _of_msr(name, name, sys)
    choices = CHOICES.get(name)
    if choices is not None:
        choice = choices.get(read_microarchitecture(proc))
        if choice is not None:
            chosen = find_in_source(SourceName(_cpu_source(sys), parse_terms(choice.terms)), name, sys)
            return replace(chosen, unit=choice.unit, default_period=choice.period)
    event = EVENTS.get(name)
    if event is None:
        raise _unknown_event(name, choices is not None)
    instead = _SUGGESTIONS.get(name)
    if instead is not None and has_source(_MSR, sys) and probe(event, own=False, sampling=False):
        try:
            return _of_msr(instead, name, sys)
        except EventUnavailable:
            return event
    return event


def _cpu_source(sys: Path) -> str:
    return next((source for source in _CPU_SOURCES if has_source(source, sys)), _CPU_SOURCES[0])


def _of_msr(register: str, called: str, sys: Path) -> Event:
    event = find_in_source(SourceName(_MSR, parse_terms(register)), called, sys)
    return replace(event, unit=_MSR_EVENTS[register])


def _unknown_event(name: str, known: bool) -> EventUnavailable:
    why = "not a known event of this CPU" if known else "unknown event"
    return EventUnavailable(
        f"{name}: {why}", support=capture_pb2.SUPPORT_UNSUPPORTED, errno=errno.ENOENT if known else 0
    )
