"""The counters of a visit's window as rows that can be summed for ratios (DIGEST A2, D1).

A capture has a reading for every CPU and group of counters; the archive stores them all. Here the readings of one
socket, control group or application are summed to one row per counter, so a machine of a hundred CPUs has some tens of
rows. A counter that failed on one of the CPUs has no sum: the sum of the others would pass for the machine's.
Multiplexed readings are scaled before they are added.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from fleetpb import capture_pb2
from storage.ingest.process_labels import clean
from storage.ingest.table_rows import TableRows, VisitFacts
from storage.schema import capture_counter

STATUS: Final = {
    capture_pb2.SUPPORT_OK: "ok",
    capture_pb2.SUPPORT_UNSUPPORTED: "unsupported",
    capture_pb2.SUPPORT_DENIED: "denied",
    capture_pb2.SUPPORT_BUSY: "busy",
    capture_pb2.SUPPORT_NOT_COUNTED: "not_counted",
}
COUNT: Final = "count"
_INT8_MAX: Final = (1 << 63) - 1
_INT2_MAX: Final = (1 << 15) - 1
_LARGEST_SCALE: Final = 2.0**40


class _Counter(NamedTuple):
    """A counter of a group, without its value."""

    name: str
    status: str
    errno: int
    unit: str
    source: str

    def of(self, other: "_Counter") -> "_Counter":
        """The other counter with this one's status."""
        return other._replace(status=self.status, errno=self.errno)


class _Group(NamedTuple):
    """The key by which readings are summed."""

    package: int | None
    application: int
    cgroup: str
    counters: tuple[_Counter, ...]


@dataclass(slots=True)
class _Sum:
    """Summed readings: raw values, and values scaled to the time enabled, in the counter's unit."""

    values: list[int]
    scaled: list[float]
    cpus: int = 0
    enabled_ns: int = 0
    running_ns: int = 0


def counter_rows(visit: VisitFacts, capture: capture_pb2.Capture, applications: Sequence[int]) -> TableRows:
    """One row per counter and place; `applications` has the application id of each process group of the capture."""
    rows = TableRows(
        capture_counter,
        ("visit_id", "reading", "name", "day", "package", "cpus", "application", "cgroup", "status", "errno",
         "value", "scaled", "unit", "source", "time_enabled_ns", "time_running_ns"),
    )  # fmt: skip
    for number, (group, total) in enumerate(_summed(capture, applications).items()):
        # Names that become equal when cleaned are one row; the first counter is used.
        first = {counter.name: place for place, counter in reversed(list(enumerate(group.counters)))}
        for place in sorted(first.values()):
            counter = group.counters[place]
            counted = counter.status == "ok"
            rows.add(
                visit.visit_id, number, counter.name, visit.day, group.package, min(total.cpus, _INT2_MAX),
                group.application, group.cgroup, counter.status, counter.errno,
                min(total.values[place], _INT8_MAX) if counted else None,
                total.scaled[place] if counted else None, counter.unit, counter.source,
                min(total.enabled_ns, _INT8_MAX), min(total.running_ns, _INT8_MAX),
            )  # fmt: skip
    return rows


def scaled(value: int, enabled_ns: int, running_ns: int, scale: float) -> float:
    """The estimated count over all the time the counter was enabled, in its unit.

    Needs `running_ns` > 0; perf-stat(1) calls the first part "scaled for multiplexing".
    """
    return value * (enabled_ns / running_ns) * scale


def watched_s(segment: capture_pb2.Segment) -> float:
    """Seconds of a segment that its samples represent.

    They are fewer than its length if the event was multiplexed, or if samples did not fit into the ring buffer: those
    are assumed to be like the others.
    """
    seconds = segment.duration_ns / 1e9
    if 0 < segment.time_running_ns < segment.time_enabled_ns:
        seconds *= segment.time_running_ns / segment.time_enabled_ns
    if lost := sum(segment.lost):
        seconds *= segment.samples / (segment.samples + lost)
    return seconds


def _summed(capture: capture_pb2.Capture, applications: Sequence[int]) -> dict[_Group, _Sum]:
    # Firmware may number sockets arbitrarily; a number that does not fit is treated as unknown.
    packages = {usage.cpu: usage.package for usage in capture.cpus if 0 <= usage.package <= _INT2_MAX}
    by_cgroup = _by_cgroup(capture, applications)
    failed = _failed(capture)
    known: dict[tuple[int, ...], _Counter] = {}
    sums: dict[_Group, _Sum] = {}
    for reading in capture.counters:
        counters = tuple([_counter(capture, reading, counter, known) for counter in reading.counters])
        if failed:
            counters = tuple(
                [failed.get((each.name, reading.cgroup, reading.group), each).of(each) for each in counters]
            )
        package = reading.package - 1 if reading.package else packages.get(reading.cpu)
        path = capture.strings[reading.cgroup]
        application = 0
        if reading.group:
            application = applications[reading.group - 1]
        elif path:
            application = _application_of(path, by_cgroup)
        group = _Group(package, application, clean(path) if path else "", counters)
        total = sums.get(group)
        if total is None:
            count = len(counters)
            total = sums[group] = _Sum([0] * count, [0.0] * count)
        enabled, running = reading.time_enabled_ns, reading.time_running_ns
        total.cpus += reading.cpu >= 0
        total.enabled_ns += enabled
        total.running_ns += running
        for place, counter in enumerate(reading.counters):
            if counters[place].status == "ok":
                value = counter.value
                total.values[place] += value
                total.scaled[place] += scaled(value, enabled, running, counter.scale or 1.0)
    return sums


def _failed(capture: capture_pb2.Capture) -> dict[tuple[str, int, int], _Counter]:
    """The first failure of each failed counter, by its name, control group and process group."""
    known: dict[tuple[int, ...], _Counter] = {}
    failed: dict[tuple[str, int, int], _Counter] = {}
    for reading in capture.counters:
        for counter in reading.counters:
            if counter.support != capture_pb2.SUPPORT_OK or not reading.time_running_ns:
                made = _counter(capture, reading, counter, known)
                failed.setdefault((made.name, reading.cgroup, reading.group), made)
    return failed


def _counter(
    capture: capture_pb2.Capture,
    reading: capture_pb2.CounterGroup,
    counter: capture_pb2.Counter,
    known: dict[tuple[int, ...], _Counter],
) -> _Counter:
    """The counter without its value, cached because all CPUs of a machine have the same counters."""
    ran = reading.time_running_ns > 0
    key = (counter.name, counter.support, counter.errno, counter.unit, counter.source, ran)
    found = known.get(key)
    if found is None:
        status = STATUS.get(counter.support, "unsupported")
        found = known[key] = _Counter(
            clean(capture.strings[counter.name]),
            "not_counted" if status == "ok" and not ran else status,
            counter.errno,
            clean(capture.strings[counter.unit]) or COUNT,
            clean(capture.strings[counter.source]),
        )
    return found


def _by_cgroup(capture: capture_pb2.Capture, applications: Sequence[int]) -> dict[str, set[int]]:
    """The applications that ran in each control group, by its path."""
    found: defaultdict[str, set[int]] = defaultdict(set)
    for group, application in zip(capture.groups, applications, strict=True):
        if group.cgroup:
            found[capture.strings[group.cgroup]].add(application)
    return dict(found)


def _application_of(path: str, by_cgroup: Mapping[str, set[int]]) -> int:
    """The only application in the control group and those below it; 0 if several or none were sampled."""
    inside = path.rstrip("/") + "/"
    ran = set().union(*(ids for at, ids in by_cgroup.items() if at == path or at.startswith(inside)))
    return ran.pop() if len(ran) == 1 else 0


def is_scale(scale: float) -> bool:
    """Whether a counter may have this scale; 0 stands for 1. Beyond 2⁴⁰ per count, sums would lose their meaning."""
    return math.isfinite(scale) and 0 <= scale <= _LARGEST_SCALE
