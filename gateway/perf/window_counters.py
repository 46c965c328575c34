"""Counters of every window, those that a plan adds, and those of the busiest control groups.

The standing groups are the ones that CPI, APU, DVFS and the interference models divide by each other (DIGEST A2, D1).
On a CPU with four counters besides the fixed ones they take turns; docs/events.md has their cost.
"""

from __future__ import annotations

import errno
import time
from typing import TYPE_CHECKING, Final, Self

from fleetpb import capture_pb2
from gateway.errors import EventUnavailable
from gateway.machine.topology import PROC, SYS
from gateway.perf.attributes import EventType
from gateway.perf.cgroup_hierarchy import disjoint_groups, perf_hierarchy, printable_path
from gateway.perf.counters import Counters
from gateway.perf.descriptors import descriptors_for_events
from gateway.perf.event_lookup import find_event
from gateway.perf.events import NANOSECONDS, Event
from gateway.perf.resctrl import SOURCE, BytesMoved, package_of_cpu, package_of_domain, read_moved
from gateway.perf.uncore import READ, TRANSFERRED, uncore_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from gateway.perf.kernel_interface import Kernel

STANDING: Final = (
    ("cycles", "instructions", "ref-cycles"),
    ("cycles-any",),
    ("cycles-distributed",),
    ("llc-references", "llc-misses"),
    ("branches", "branch-misses"),
    ("memory-stalls",),
    ("aperf", "mperf"),
    ("page-faults", "context-switches", "cpu-migrations"),
)
OF_CGROUPS: Final = ("cycles", "instructions")
# CPU time of the tasks, a software event on every machine.
TASK_CLOCK: Final = Event("task-clock", "task-clock", EventType.SOFTWARE, 1, NANOSECONDS)


class WindowCounters:
    """The counters of one capture, opened on entry. A context manager."""

    def __init__(
        self,
        cpus: Sequence[int],
        requested: Sequence[str] = (),
        *,
        standing: bool = True,
        most: int | None = None,
        sys: Path = SYS,
        proc: Path = PROC,
        kernel: Kernel | None = None,
    ) -> None:
        """`requested` events are counted besides the standing groups, each in a group of its own.

        `most`: limit of descriptors; None: the limit of a single capture.
        """
        self._cpus: Final = tuple(cpus)
        self._standing: Final = STANDING if standing else ()
        self._requested: Final = requested
        self._sys: Final = sys
        self._proc: Final = proc
        self._most: Final = descriptors_for_events(1) if most is None else max(0, most)
        self._counters: Final = Counters(kernel, self._most)
        self._moved: BytesMoved | None = None
        self._began = 0

    def __enter__(self) -> Self:
        """Open the standing groups, the requested ones, and the uncore ones."""
        try:
            self._open()
        except BaseException:
            self._counters.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._counters.close()

    @property
    def opened(self) -> int:
        """Descriptors opened so far."""
        return self._counters.opened

    def count_cgroups(self, samples: Mapping[int, int], most: int) -> list[str]:
        """Count the control groups of the most sampled processes, without nested groups.

        `samples` maps a process id to its samples. Returns what failed, as sentences.
        """
        hierarchy = perf_hierarchy(self._proc)
        if hierarchy is None:
            return ["control groups are not counted: no hierarchy that perf events support is mounted"]
        by_path: dict[str, int] = {}
        for pid, count in samples.items():
            if path := hierarchy.path_of(pid, self._proc):
                by_path[path] = by_path.get(path, 0) + count
        ranked = sorted(by_path, key=lambda path: (-by_path[path], path))
        # One more descriptor is that of the control group itself.
        room = (self._most - self._counters.held) // ((len(OF_CGROUPS) + 1) * len(self._cpus) + 1)
        chosen = disjoint_groups(ranked, min(most, max(0, room)))
        events = [*self._found(OF_CGROUPS), TASK_CLOCK]
        for path in chosen:
            try:
                descriptor = hierarchy.open(path)
            except OSError:
                continue  # its last process has ended
            self._counters.count_cgroup(events, self._cpus, printable_path(path), descriptor)
        if room < min(most, len(ranked)):
            return [
                f"only {max(0, room)} control groups are counted: RLIMIT_NOFILE allows no more descriptors"
            ]
        return []

    def split_idle(self) -> None:
        """Split groups that get no turn; call it once, some tenths of a second after opening."""
        self._counters.split_idle()

    def read(self, text: Callable[[str], int]) -> list[capture_pb2.CounterGroup]:
        """All readings and refusals; `text` gives the string index of a name."""
        return self._counters.read(text) + self._read_monitor(text)

    def _open(self) -> None:
        standing = {name for names in self._standing for name in names}
        requested = [(name,) for name in self._requested if name not in standing]
        for names in (*self._standing, *requested):
            events = self._found(names)
            if events and events[0].cpus is not None:
                self._counters.count_packages(events, self._package)
            elif events:
                self._counters.count_cpus(events, self._cpus)
        if not self._standing:
            return
        beside = uncore_groups(self._sys, self._proc)
        for group in beside:
            self._counters.count_packages(group, self._package)
        if not any(event.name in {READ, TRANSFERRED} for group in beside for event in group):
            self._moved, self._began = read_moved(self._sys), time.monotonic_ns()

    def _found(self, names: Sequence[str]) -> list[Event]:
        events = []
        for name in names:
            try:
                events.append(find_event(name, sys=self._sys, proc=self._proc))
            except EventUnavailable as reason:
                self._counters.refuse(name, reason.errno or errno.ENOENT)
        return events

    def _package(self, cpu: int) -> int:
        return package_of_cpu(cpu, self._sys)

    def _read_monitor(self, text: Callable[[str], int]) -> list[capture_pb2.CounterGroup]:
        if self._moved is None:
            return []
        if not self._moved.by_domain:
            refused = capture_pb2.CounterGroup(cpu=-1)
            refused.counters.add(
                name=text(TRANSFERRED), support=capture_pb2.SUPPORT_UNSUPPORTED, errno=errno.ENOENT
            )
            return [refused]
        lasted = time.monotonic_ns() - self._began
        by_package: dict[int, int] = {}
        for domain, moved in read_moved(self._sys).since(self._moved).items():
            package = package_of_domain(domain, list(self._cpus), self._sys)
            by_package[package] = by_package.get(package, 0) + moved
        groups = []
        for package, moved in by_package.items():
            group = capture_pb2.CounterGroup(
                cpu=-1, package=package + 1, time_enabled_ns=lasted, time_running_ns=lasted
            )
            group.counters.add(
                name=text(TRANSFERRED),
                support=capture_pb2.SUPPORT_OK,
                value=moved,
                unit=text("bytes"),
                source=text(SOURCE),
            )
            groups.append(group)
        return groups
