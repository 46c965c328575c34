"""Captures of visits to a synthetic fleet: process groups, samples, and resolved names.

20 to 100 process groups per visit, at most 60 facts in the median profile, a few programs with most of the samples. A
given share of a visit's stacks is new.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.store.vocabulary import APPLICATIONS, LIBRARIES, Ints, Vocabulary
from fleetpb import capture_pb2
from storage.ingest.symbolized import ResolvedFrames, Status

if TYPE_CHECKING:
    from uuid import UUID

GROUPS: Final = (20, 100)
_MEDIAN_SAMPLES, _SPREAD = 60.0, 1.25
_MOST_SAMPLES: Final = 20_000
LOGICAL_CPUS: Final = 64
PERIOD_NS: Final = 10_101_010
_SECONDS: Final = 5
_SECOND_EVENT: Final = ("llc-misses", "count", 100_003)


@dataclass(frozen=True)
class Group:
    """The samples of one process group: stacks of the vocabulary, ascending, and counts."""

    slot: int
    """Number of the process group on its machine."""
    application: int
    stacks: Ints
    counts: Ints


class Fleet:
    """Draws visits; deterministic by seed."""

    def __init__(self, vocabulary: Vocabulary, seed: int, *, machines: int) -> None:
        self._vocabulary = vocabulary
        self._rng = np.random.default_rng(seed)
        self._met = vocabulary.known.copy()
        self._popular = np.cumsum(vocabulary.popularity)
        self.machines = machines

    def groups(self, machine: int, *, new_share: float) -> list[Group]:
        """A visit's process groups: those of the machine, with their samples."""
        lives = np.random.default_rng(machine)
        count = int(lives.integers(GROUPS[0], GROUPS[1] + 1))
        applications = np.minimum(np.searchsorted(self._popular, lives.random(count)), APPLICATIONS - 1)
        sampled = np.exp(self._rng.normal(np.log(_MEDIAN_SAMPLES), _SPREAD, count))
        sampled = np.clip(sampled, 1, _MOST_SAMPLES).astype(np.int64)
        return [
            self._group(slot, application, samples, new_share)
            for slot, (application, samples) in enumerate(
                zip(applications.tolist(), sampled.tolist(), strict=True)
            )
        ]

    def _group(self, slot: int, application: int, samples: int, new_share: float) -> Group:
        vocabulary = self._vocabulary
        known = int(vocabulary.known[application])
        # Density falls with the rank: hot stacks of a program recur.
        met = (self._rng.random(samples) ** 2 * known).astype(np.int64)
        stacks, counts = np.unique(met, return_counts=True)
        room = int(vocabulary.first[application + 1] - vocabulary.first[application] - self._met[application])
        new = min(room, round(new_share * len(stacks)))
        if new:
            stacks[-new:] = self._met[application] + np.arange(new)
            self._met[application] += new
        return Group(slot, application, vocabulary.first[application] + stacks, counts.astype(np.int64))


@dataclass(frozen=True)
class PackedVisit:
    """A visit's capture, serialized, and the symbolization of its frames."""

    visit_id: UUID
    raw: bytes
    resolved: ResolvedFrames
    facts: int


def capture(fleet_vocabulary: Vocabulary, visit_id: UUID, machine: int, groups: list[Group]) -> PackedVisit:
    """The capture of a visit as its gateway would pack it; every second one has a second event."""
    vocabulary = fleet_vocabulary
    stacks = np.unique(np.concatenate([group.stacks for group in groups]))
    depth, flat = vocabulary.frames_of(stacks)
    frames, local = np.unique(flat.astype(np.int64), return_inverse=True)
    message = capture_pb2.Capture(format=1, visit_id=visit_id.bytes)
    texts: dict[str, int] = {"": 0}

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    message.machine.platform = f"CPU {machine % 4}"
    message.machine.kernel_release = f"6.1.{machine % 6}"
    message.window.duration_ns = _SECONDS * 10**9
    images, mapping = np.unique(vocabulary.frame_image[frames], return_inverse=True)
    for image in images.tolist():
        path = _path(image)
        kind = capture_pb2.Mapping.FILE if image else capture_pb2.Mapping.KERNEL
        message.mappings.add(kind=kind, path=text(path), build_id=image.to_bytes(2, "big") * 10)
    message.frames.mapping.extend(mapping.tolist())
    message.frames.offset.extend((frames.astype(np.int64) * 16 + 8).tolist())
    message.frames.into_function.extend(np.full(len(frames), 9).tolist())
    message.frames.flags.extend(np.zeros(len(frames), np.int64).tolist())
    message.stacks.frames.extend(local.tolist())
    message.stacks.length.extend(depth.tolist())
    ends = np.full(len(depth), capture_pb2.STACK_END_COMPLETE)
    ends[::40] = capture_pb2.STACK_END_TRUNCATED
    message.stacks.end.extend(ends.tolist())
    for group in groups:
        application = f"app{group.application:03d}"
        container = f"{machine:06x}{group.slot:06x}" if group.slot % 5 < 2 else ""
        message.groups.add(
            comm=text(application), exe=text(f"/srv/{application}/bin/{application}"), processes=1,
            unit=text(f"{application}.service"), container=text(container),
            labels=[text("version"), text(f"r{(machine + group.application) % 5}")],
        )  # fmt: skip
    _segment(message, text, groups, stacks, "cpu", "nanoseconds", PERIOD_NS)
    if visit_id.int % 2:
        _segment(message, text, groups[::4], stacks, *_SECOND_EVENT)
    for cpu in range(LOGICAL_CPUS):
        message.cpus.add(
            cpu=cpu, core=cpu // 2, package=cpu // 32, user_ms=2500, system_ms=500, idle_ms=2000, mhz=2400
        )
    message.strings.extend(texts)
    facts = sum(len(profile.count) for segment in message.segments for profile in segment.profiles)
    return PackedVisit(visit_id, message.SerializeToString(), _resolved(vocabulary, frames), facts)


def _segment(  # noqa: PLR0917 - the fields of one
    message: capture_pb2.Capture,
    text: object,
    groups: list[Group],
    stacks: Ints,
    event: str,
    unit: str,
    period: int,
) -> None:
    assert callable(text)
    segment = message.segments.add(
        event=text(event), source=text(event), unit=text(unit), support=capture_pb2.SUPPORT_OK, period=period,
        requested_period=period, stacks=True, duration_ns=_SECONDS * 10**9,
        samples=sum(int(group.counts.sum()) for group in groups), cpus=range(LOGICAL_CPUS),
    )  # fmt: skip
    for group in groups:
        local = np.searchsorted(stacks, group.stacks)
        segment.profiles.add(
            group=group.slot, stack_delta=np.diff(local, prepend=0).tolist(), count=group.counts.tolist()
        )


def _resolved(vocabulary: Vocabulary, frames: Ints) -> ResolvedFrames:
    inlined = vocabulary.frame_inlined[frames]
    calls = 1 + (inlined >= 0)
    offsets = np.concatenate(([0], np.cumsum(calls)))
    function = np.empty(offsets[-1], np.int64)
    line = np.empty(offsets[-1], np.int32)
    function[offsets[1:] - 1] = vocabulary.frame_function[frames]
    line[offsets[1:] - 1] = vocabulary.frame_line[frames]
    inside = inlined >= 0
    function[offsets[:-1][inside]] = inlined[inside]
    line[offsets[:-1][inside]] = 7
    used, index = np.unique(function, return_inverse=True)
    status = np.where(vocabulary.frame_image[frames] == 0, Status.SYMTAB, Status.FULL).astype(np.uint8)
    names = tuple(vocabulary.functions[f] for f in used.tolist())
    return ResolvedFrames(names, offsets, index.astype(np.int32), line, status)


def _path(image: int) -> str:
    if not image:
        return "[kernel]"
    if image <= len(LIBRARIES):
        return f"/usr/lib/{LIBRARIES[image - 1]}"
    application = f"app{image - 1 - len(LIBRARIES):03d}"
    return f"/srv/{application}/bin/{application}"


def visits_of(fleet: Fleet, facts: int, *, new_share: float) -> Iterator[tuple[int, list[Group]]]:
    """Visits of random machines with `facts` facts in total: (machine, groups)."""
    drawn = np.random.default_rng(facts)
    while facts > 0:
        machine = int(drawn.integers(fleet.machines))
        groups = fleet.groups(machine, new_share=new_share)
        facts -= sum(len(group.stacks) for group in groups)
        yield machine, groups
