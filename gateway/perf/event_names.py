"""Parses event names of a plan (gateway.proto, EventPlan.event): text in, values out.

Strategy: parsing reads nothing of the machine; event_lookup.py finds the event afterwards. The text itself stays the
event's name in the capture and the store.

    cpu                                  generic: lower-case words joined by "-"
    tracepoint:sched:sched_switch        a kernel tracepoint by subsystem and name
    raw:0x1c2                            a CPU event by the encoding in its manual
    pmu:uncore_imc_0:event=0x4,umask=3   any event source of the kernel, by its own terms
    pmu:msr:tsc                          … or by the name of one of the source's events
"""

import re
from dataclasses import dataclass
from typing import Final

from gateway.errors import BadEventName

LONGEST_NAME: Final = 200
_GENERIC: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# Each becomes a file name, so it contains no "/" and does not begin with ".".
_FILE: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_NUMBER: Final = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}")
_RAW: Final = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_LARGEST: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class GenericName:
    """A name in the generic form; the catalogue may lack it."""

    name: str


@dataclass(frozen=True, slots=True)
class TracepointName:
    """A kernel tracepoint."""

    subsystem: str
    name: str


@dataclass(frozen=True, slots=True)
class RawName:
    """The value of `perf_event_attr.config` for the CPU's own counters."""

    config: int


@dataclass(frozen=True, slots=True)
class Term:
    """`name=value`, or `name` alone (value None): a flag, or the name of an event."""

    name: str
    value: int | None


@dataclass(frozen=True, slots=True)
class SourceName:
    """Terms of an event source in /sys/bus/event_source/devices."""

    source: str
    terms: tuple[Term, ...]


EventName = GenericName | TracepointName | RawName | SourceName


def parse_event_name(text: str) -> EventName:
    """Parse a name; raises BadEventName with an example of a valid one."""
    if len(text) > LONGEST_NAME:
        raise BadEventName(f"an event's name has at most {LONGEST_NAME} characters, not {len(text)}")
    kind, colon, rest = text.partition(":")
    if not colon:
        if not _GENERIC.fullmatch(text):
            raise BadEventName(f"{text!r} is not an event name: those look like page-faults")
        return GenericName(text)
    if kind == "tracepoint":
        subsystem, _, name = rest.partition(":")
        if not _FILE.fullmatch(subsystem) or not _FILE.fullmatch(name):
            raise BadEventName(f"{text!r} is not a tracepoint: those look like tracepoint:sched:sched_switch")
        return TracepointName(subsystem, name)
    if kind == "raw":
        if not _RAW.fullmatch(rest):
            raise BadEventName(f"{text!r} is not a raw event: those look like raw:0x1c2")
        return RawName(int(rest, 16))
    if kind == "pmu":
        source, _, terms = rest.partition(":")
        if not _FILE.fullmatch(source):
            raise BadEventName(
                f"{text!r} is not an event of a source: those look like pmu:cpu:event=0x3c,umask=0"
            )
        return SourceName(source, parse_terms(terms))
    raise BadEventName(f"{text!r} does not begin with tracepoint:, raw: or pmu:")


def parse_terms(text: str) -> tuple[Term, ...]:
    """Parse `event=0x3c,umask=0`, as in a plan and in the files of an event source's `events` folder."""
    terms: list[Term] = []
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not _FILE.fullmatch(name) or (equals and not _NUMBER.fullmatch(value)):
            raise BadEventName(f"{part!r} is not a term: those look like event=0x3c or tsc")
        number = int(value, 16 if value[:2] in {"0x", "0X"} else 10) if equals else None
        if number is not None and number > _LARGEST:
            raise BadEventName(f"{part!r} does not fit into 64 bits")
        terms.append(Term(name, number))
    return tuple(terms)
