"""Assemble a capture from placed stacks: the same message as `gateway.capture.packer.Packer`'s, in a tenth of its time.

The packer takes samples one by one, as the kernel delivers them. Here whole columns are known in advance, so one sort
finds the distinct frames. A test builds captures both ways and compares them.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import zstandard

from fleetpb import capture_pb2
from gateway.capture.packer import FORMAT, Image, Packed
from gateway.process.identity import Identity
from simulation.placed_stacks import PlacedStacks
from simulation.seeded_random import Indexes

_ZSTD_LEVEL: Final = 9
_FLAG_BITS, _OFFSET_BITS = 3, 40
PERF_MAP: Final = "perf-map"


@dataclass(frozen=True, slots=True)
class Profile:
    """Samples of one process group in one segment."""

    group: int
    placed: PlacedStacks
    stack: Indexes
    """Indexes of distinct stacks of `placed`."""
    count: Indexes


@dataclass(slots=True)
class Assembly:
    """One capture under construction."""

    capture: capture_pb2.Capture
    _strings: dict[str, int] = field(default_factory=lambda: {"": 0})
    _images: dict[Image, int] = field(default_factory=dict)
    _segments: list[tuple[capture_pb2.Segment, Sequence[Profile]]] = field(default_factory=list)

    def text(self, value: str) -> int:
        """Index into Capture.strings."""
        return self._strings.setdefault(value, len(self._strings))

    def image(self, image: Image) -> int:
        """Index into Capture.mappings."""
        return self._images.setdefault(image, len(self._images))

    def group(
        self, identity: Identity, executable: Image | None, processes: int, labels: Sequence[tuple[str, str]]
    ) -> int:
        """Add a process group; returns its index."""
        self.capture.groups.add(
            comm=self.text(identity.comm),
            exe=self.text(identity.exe),
            main_mapping=self.image(executable) + 1 if executable else 0,
            script=self.text(identity.script),
            cgroup=self.text(identity.cgroup),
            container=self.text(identity.container),
            unit=self.text(identity.unit),
            labels=[self.text(part) for pair in labels for part in pair],
            processes=processes,
            kernel_thread=identity.kernel_thread,
        )
        return len(self.capture.groups) - 1

    def segment(self, message: capture_pb2.Segment, profiles: Sequence[Profile]) -> None:
        """Add a segment; `message` holds everything except the counts."""
        self._segments.append((message, profiles))

    def finish(self) -> Packed:
        """The capture, serialized and compressed."""
        capture = self.capture
        capture.format = FORMAT
        used = _distinct_stacks(profile for _, profiles in self._segments for profile in profiles)
        frames = self._frames(used)
        order, place_of = _ordered(frames, used)
        for index in order:
            capture.stacks.frames.extend(frames.of_stack[index])
            capture.stacks.length.append(len(frames.of_stack[index]))
            capture.stacks.end.append(used.end[index])
        samples = 0
        for message, profiles in self._segments:
            message.samples = sum(int(profile.count.sum()) for profile in profiles)
            samples += message.samples
            for profile in sorted(profiles, key=lambda profile: profile.group):
                _put_profile(
                    message,
                    profile,
                    [place_of[used.index[id(profile.placed), stack]] for stack in profile.stack.tolist()],
                )
            capture.segments.append(message)
        self._excerpts(frames, used)
        for image in self._images:
            capture.mappings.add(kind=image.kind, path=self.text(image.path), build_id=image.build_id)
        capture.strings.extend(self._strings)
        raw = capture.SerializeToString()
        data = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(raw)
        return Packed(data, hashlib.sha256(data).digest(), len(raw), samples)

    def _frames(self, used: "_Used") -> "_Frames":
        """Distinct frames of the used stacks, ordered by mapping and offset, as columns of the capture."""
        if not used.by_table:
            return _Frames([], {})
        ranks = self._name_ranks(used)
        keys, facts = [], []
        for placed, stacks in used.by_table:
            at = _positions(placed.starts, stacks)
            mapping = np.array([self.image(image) for image in placed.images])[placed.image[at]]
            name = np.array([self.text(name) for name in placed.names])[placed.name[at]]
            rank = np.array([ranks[name] for name in placed.names])[placed.name[at]]
            offset, flags = placed.offset[at].astype(np.int64), placed.flags[at].astype(np.int64)
            # Code without a file has no offset: its flags and name take that place.
            where = np.where(name > 0, flags << _OFFSET_BITS | rank, offset << _FLAG_BITS | flags)
            keys.append(mapping << (_OFFSET_BITS + _FLAG_BITS) | where)
            facts.append(np.stack([mapping, offset, placed.into_function[at], flags, name]))
        _, first, inverse = np.unique(np.concatenate(keys), return_index=True, return_inverse=True)
        columns = np.concatenate(facts, axis=1)[:, first]
        table = self.capture.frames
        for column, values in zip(
            (table.mapping, table.offset, table.into_function, table.flags), columns, strict=False
        ):
            column.extend(values.tolist())
        flat, of_stack, begin = inverse.tolist(), [], 0
        for length in used.length:
            of_stack.append(flat[begin : begin + length])
            begin += length
        names = columns[-1]
        return _Frames(of_stack, {int(frame): int(names[frame]) for frame in np.flatnonzero(names)})

    @staticmethod
    def _name_ranks(used: "_Used") -> Mapping[str, int]:
        """Alphabetical rank of every name of code without a file; "" is first."""
        names = sorted({name for placed, _ in used.by_table for name in placed.names})
        return {name: rank for rank, name in enumerate(names)}

    def _excerpts(self, frames: "_Frames", used: "_Used") -> None:
        """Add the names of code without a file for each group that ran it."""
        hit: dict[int, set[int]] = {}
        for _, profiles in self._segments:
            for profile in profiles:
                if len(profile.placed.names) > 1:
                    for stack in profile.stack.tolist():
                        found = frames.of_stack[used.index[id(profile.placed), stack]]
                        hit.setdefault(profile.group, set()).update(f for f in found if f in frames.named)
        for group, named in sorted(hit.items()):
            if named:
                ordered = sorted(named)
                self.capture.excerpts.add(
                    group=group,
                    frame=ordered,
                    name=[frames.named[frame] for frame in ordered],
                    source=self.text(PERF_MAP),
                )


@dataclass(frozen=True, slots=True)
class _Used:
    by_table: Sequence[tuple[PlacedStacks, Indexes]]
    index: Mapping[tuple[int, int], int]
    """Number of each used stack, by table and stack in it."""
    length: Sequence[int]
    end: Sequence[capture_pb2.StackEnd]


@dataclass(frozen=True, slots=True)
class _Frames:
    of_stack: list[list[int]]
    named: Mapping[int, int]
    """String index of the name of each frame without a file."""


def _distinct_stacks(profiles: Iterable[Profile]) -> _Used:
    stacks: dict[int, tuple[PlacedStacks, list[Indexes]]] = {}
    for profile in profiles:
        stacks.setdefault(id(profile.placed), (profile.placed, []))[1].append(profile.stack)
    by_table = [(placed, np.unique(np.concatenate(parts))) for placed, parts in stacks.values()]
    index: dict[tuple[int, int], int] = {}
    length: list[int] = []
    end: list[capture_pb2.StackEnd] = []
    for placed, which in by_table:
        for stack in which.tolist():
            index[id(placed), stack] = len(index)
        length += (placed.starts[which + 1] - placed.starts[which]).tolist()
        end += placed.end[which].tolist()
    return _Used(by_table, index, length, end)


def _ordered(frames: _Frames, used: _Used) -> tuple[list[int], list[int]]:
    """Distinct stacks in the order of their outer frames, and the position of every used stack in it."""
    place_of = [0] * len(used.length)
    keyed = sorted(
        (tuple(reversed(stack)), used.end[index], index) for index, stack in enumerate(frames.of_stack)
    )
    order: list[int] = []
    previous: tuple[tuple[int, ...], int] | None = None
    for stack, end, index in keyed:
        if (stack, end) != previous:
            order.append(index)
            previous = stack, end
        place_of[index] = len(order) - 1
    return order, place_of


def _put_profile(segment: capture_pb2.Segment, profile: Profile, places: Sequence[int]) -> None:
    counts: dict[int, int] = {}
    for place, count in zip(places, profile.count.tolist(), strict=True):
        counts[place] = counts.get(place, 0) + count
    ordered = sorted(counts)
    segment.profiles.add(
        group=profile.group,
        stack_delta=np.diff(ordered, prepend=0).tolist(),
        count=[counts[place] for place in ordered],
    )


def _positions(starts: Indexes, stacks: Indexes) -> Indexes:
    """Positions of all frames of these stacks, stack by stack."""
    length = starts[stacks + 1] - starts[stacks]
    shift = starts[stacks] - np.cumsum(length) + length
    return np.asarray(np.arange(int(length.sum())) + np.repeat(shift, length), np.int64)
