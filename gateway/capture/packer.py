"""Packs samples into a capture: distinct frames, stacks and process groups, with counts (capture.proto).

Pure: nothing here reads the machine. While sampling, each item has an index in order of first use. Packing sorts
frames by location and stacks by their outer frames, so that neighbours are similar and compress well.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import zstandard

from fleetpb import capture_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateway.containers.process_environment import Labels
    from gateway.process.identity import Identity

FORMAT: Final = 1
EXACT: Final = 1
KERNEL: Final = 2
BY_FRAME_POINTER: Final = 4

_MAX_DISTANCE: Final = (1 << 32) - 1
# A reader refuses a capture with longer paths or larger offsets (storage/ingest/decode_capture.py). Relative steps can build
# a path longer than the kernel accepts, and a mapping's offset may have 64 bits.
_MAX_TEXT: Final = 8192
_MAX_OFFSET: Final = (1 << 63) - 1
# Of a longer text this many bytes of its end are kept.
_MAX_KEPT: Final = 1000
_ZSTD_LEVEL: Final = 9
KERNEL_SYMBOLS: Final = "kallsyms"
PERF_MAP: Final = "perf-map"
PYTHON: Final = "[python]"
"""Path of the image of Python frames."""
JAVA: Final = "[java]"
"""Path of the image of Java frames."""
RUNTIME_SOURCES: Final = {PYTHON: "python", JAVA: "java"}
"""Sources of names that state files and lines, by the path of the frames' image."""


class Image(NamedTuple):
    """Target of a frame; `build_id`, or else `content_key`, identifies its content. See Mapping."""

    kind: capture_pb2.Mapping.Kind
    path: str = ""
    build_id: bytes = b""
    content_key: str = ""
    deleted: bool = False


UNKNOWN: Final = Image(capture_pb2.Mapping.UNKNOWN)


class FrameKey(NamedTuple):
    """A frame as in FrameTable; `name` only for code without an image, the rest only for source-level frames."""

    mapping: int
    offset: int
    into_function: int
    flags: int
    name: str = ""
    file: str = ""
    line: int = 0
    first_line: int = 0


class GroupKey(NamedTuple):
    """The labels shared by the processes of one group."""

    identity: Identity
    main_mapping: int
    """1 + index of the executable's mapping; 0: unknown."""


@dataclass(slots=True)
class SegmentCounts:
    """Counts of one event over one segment: `message` has everything except the profiles."""

    message: capture_pb2.Segment
    counts: defaultdict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))
    lost_records: int = 0
    """Lost records that the kernel reported in the ring; some may belong to the previous segment."""

    @property
    def samples(self) -> int:
        """Samples counted so far."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class Packed:
    """A finished capture: compressed bytes, their SHA-256, their length before compression, samples."""

    data: bytes
    sha256: bytes
    raw_bytes: int
    samples: int


class Packer:
    """Collects one capture. Its indexes differ from those of the finished message."""

    def __init__(self) -> None:
        self._images: dict[Image, int] = {}
        self._frames: dict[FrameKey, int] = {}
        self._stacks: dict[tuple[tuple[int, ...], int], int] = {}
        self._groups: dict[GroupKey, int] = {}
        self._processes: dict[int, set[int]] = {}
        self._segments: list[SegmentCounts] = []
        self._strings: dict[str, int] = {"": 0}
        self._frames_of_stacks = 0

    def text(self, value: str) -> int:
        """Index into Capture.strings, the same in the finished message. A text that is too long is shortened."""
        if len(value) > _MAX_TEXT:
            value = _shortened(value)
        return self._strings.setdefault(value, len(self._strings))

    def image(self, image: Image) -> int:
        """Index of the mapping."""
        return self._images.setdefault(image, len(self._images))

    def frame(self, key: FrameKey) -> int:
        """Index of the frame."""
        return self._frames.setdefault(key, len(self._frames))

    def stack(self, frames: tuple[int, ...], end: int) -> int:
        """Index of the stack: frames leaf first, and how the walk ended (StackEnd)."""
        key = (frames, end)
        index = self._stacks.get(key)
        if index is None:
            index = self._stacks[key] = len(self._stacks)
            self._frames_of_stacks += len(frames)
        return index

    def estimate_bytes(self) -> int:
        """Estimated size of the capture before compression, rather too high than too low."""
        counts = sum(len(segment.counts) for segment in self._segments)
        tables = 14 * len(self._frames) + 3 * self._frames_of_stacks + 4 * len(self._stacks) + 7 * counts
        return tables + 200 * (len(self._images) + len(self._groups)) + 40 * len(self._strings)

    def group(self, key: GroupKey, pid: int) -> int:
        """Index of the group; records `pid` as one of its processes."""
        index = self._groups.setdefault(key, len(self._groups))
        self._processes.setdefault(index, set()).add(pid)
        return index

    def samples_by_process(self) -> dict[int, int]:
        """Samples so far of each group, keyed by one of its processes."""
        pids = [next(iter(self._processes[index])) for index in self._groups.values()]
        samples = dict.fromkeys(pids, 0)
        for segment in self._segments:
            for (group, _), count in segment.counts.items():
                samples[pids[group]] += count
        return samples

    def segment(self, message: capture_pb2.Segment) -> SegmentCounts:
        """A new segment to count into; the caller completes its message."""
        segment = SegmentCounts(message)
        self._segments.append(segment)
        return segment

    @property
    def identities(self) -> list[Identity]:
        """Identities of the groups so far."""
        return [key.identity for key in self._groups]

    def pack(self, capture: capture_pb2.Capture, labels: Mapping[Identity, Labels] | None = None) -> Packed:
        """Finish the capture; `capture` has every field that does not depend on samples.

        `labels` are the labels of each group; None: those of its identity.
        """
        capture.format = FORMAT
        frame_order = _order(self._frames)
        # Outer frames first: stacks of the same thread function become neighbours with a common ending.
        stack_order = _order(
            (tuple([frame_order[frame] for frame in reversed(frames)]), end) for frames, end in self._stacks
        )
        self._put_mappings(capture)
        self._put_frames(capture.frames, frame_order)
        self._put_stacks(capture.stacks, stack_order, frame_order)
        self._put_groups(capture, labels)
        samples = 0
        for segment in self._segments:
            segment.message.samples = segment.samples
            samples += segment.samples
            _put_profiles(segment, stack_order)
            capture.segments.append(segment.message)
        self._put_excerpts(capture, frame_order)
        capture.strings.extend(self._strings)
        raw = capture.SerializeToString()
        data = zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(raw)
        return Packed(data, hashlib.sha256(data).digest(), len(raw), samples)

    def _put_mappings(self, capture: capture_pb2.Capture) -> None:
        for image in self._images:
            capture.mappings.add(
                kind=image.kind,
                path=self.text(image.path),
                build_id=image.build_id,
                content_key=self.text(image.content_key),
                deleted=image.deleted,
            )

    def _put_frames(self, table: capture_pb2.FrameTable, order: list[int]) -> None:
        ordered = sorted(zip(order, self._frames, strict=True))
        table.mapping.extend([frame.mapping for _, frame in ordered])
        offsets = [frame.offset for _, frame in ordered]
        table.offset.extend([offset if 0 <= offset <= _MAX_OFFSET else 0 for offset in offsets])
        # A damaged unwind table may claim a function of more than 4 GiB: such a frame gets no function start.
        into = [frame.into_function for _, frame in ordered]
        table.into_function.extend([distance if 0 < distance <= _MAX_DISTANCE else 0 for distance in into])
        table.flags.extend([frame.flags for _, frame in ordered])

    def _put_stacks(self, table: capture_pb2.StackTable, order: list[int], frame_order: list[int]) -> None:
        for _, (frames, end) in sorted(zip(order, self._stacks, strict=True)):
            table.frames.extend([frame_order[frame] for frame in frames])
            table.length.append(len(frames))
            table.end.append(cast("capture_pb2.StackEnd", end))

    def _put_groups(self, capture: capture_pb2.Capture, labels: Mapping[Identity, Labels] | None) -> None:
        for key, index in self._groups.items():
            identity = key.identity
            its = identity.labels if labels is None else labels.get(identity, ())
            capture.groups.add(
                comm=self.text(identity.comm),
                exe=self.text(identity.exe),
                main_mapping=key.main_mapping,
                script=self.text(identity.script),
                cgroup=self.text(identity.cgroup),
                container=self.text(identity.container),
                unit=self.text(identity.unit),
                labels=[self.text(part) for pair in its for part in pair],
                processes=len(self._processes[index]),
                kernel_thread=identity.kernel_thread,
            )

    def _put_excerpts(self, capture: capture_pb2.Capture, frame_order: list[int]) -> None:
        named = {index: frame for frame, index in self._frames.items() if frame.name}
        if not named:
            return
        used: dict[int, set[int]] = defaultdict(set)
        stacks = [frames for frames, _ in self._stacks]
        for segment in self._segments:
            for group, stack in segment.counts:
                used[group].update(frame for frame in stacks[stack] if frame in named)
        runtimes = {
            index: RUNTIME_SOURCES[image.path]
            for image, index in self._images.items()
            if image.kind == capture_pb2.Mapping.ANONYMOUS and image.path in RUNTIME_SOURCES
        }
        sources = {
            index: runtimes.get(frame.mapping, KERNEL_SYMBOLS if frame.flags & KERNEL else PERF_MAP)
            for index, frame in named.items()
        }
        for group, frames in sorted(used.items()):
            for source in (KERNEL_SYMBOLS, PERF_MAP, *RUNTIME_SOURCES.values()):
                ordered = sorted(frame for frame in frames if sources[frame] == source)
                if not ordered:
                    continue
                excerpt = capture.excerpts.add(
                    group=group,
                    frame=[frame_order[frame] for frame in ordered],
                    name=[self.text(named[frame].name) for frame in ordered],
                    source=self.text(source),
                )
                if source in RUNTIME_SOURCES.values():
                    excerpt.file.extend([self.text(named[frame].file) for frame in ordered])
                    excerpt.line.extend([named[frame].line for frame in ordered])
                    excerpt.first_line.extend([named[frame].first_line for frame in ordered])


def _shortened(text: str) -> str:
    """A replacement for a text that is too long: its end, and a digest that keeps it distinct."""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]
    return f"{text[: text.startswith('/')]}…{digest}/{text.rpartition('/')[2][-_MAX_KEPT:]}"


def _put_profiles(segment: SegmentCounts, stack_order: list[int]) -> None:
    by_group: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (group, stack), count in segment.counts.items():
        by_group[group].append((stack_order[stack], count))
    for group, counted in sorted(by_group.items()):
        counted.sort()
        previous = 0
        profile = segment.message.profiles.add(group=group, count=[count for _, count in counted])
        for stack, _ in counted:
            profile.stack_delta.append(stack - previous)
            previous = stack


def _order(items: Iterable[tuple[Any, ...]]) -> list[int]:
    """The new position of each item after sorting, by its current position."""
    ordered = sorted((item, old) for old, item in enumerate(items))
    places = [0] * len(ordered)
    for new, (_, old) in enumerate(ordered):
        places[old] = new
    return places
