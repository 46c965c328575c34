"""Captures made by hand or at random, with what symbolization says about them, and a slow second opinion.

Deterministic: the same seed gives the same capture in another process.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from fleetpb import capture_pb2
from storage.ingest.marker_frames import MARKERS
from storage.ingest.symbolized import FunctionName, ResolvedFrames, Status

PERIOD = 10_101_010
LIBRARY = bytes.fromhex("aa" * 20)
Call = tuple[FunctionName, int]


def named(
    name: str, *, file: str | None = None, binary: str = "app", status: Status = Status.FULL
) -> FunctionName:
    return FunctionName(
        name=name,
        raw_name=name,
        file=f"{name}.c" if file is None else file,
        binary_name=binary,
        status=status,
    )


def nameless(start: int | None, *, binary: str = "lib.so", key: str = LIBRARY.hex()) -> FunctionName:
    name = f"[{binary}]" if start is None else f"{binary}+{start:#x}"
    return FunctionName(name, name, "", binary, Status.BINARY_ONLY, binary_key=key, start=start)


@dataclass
class SyntheticCapture:
    """A capture under construction; frames are given as the calls they stand for, innermost first."""

    visit_id: UUID
    message: capture_pb2.Capture = field(default_factory=capture_pb2.Capture)
    _strings: dict[str, int] = field(default_factory=lambda: {"": 0})
    _chains: list[tuple[Call, ...]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.message.format = 1
        self.message.visit_id = self.visit_id.bytes
        self.message.machine.platform = "Test CPU"
        self.message.machine.kernel_release = "6.18.0"
        self.message.window.duration_ns = 5_000_000_000

    def text(self, value: str) -> int:
        return self._strings.setdefault(value, len(self._strings))

    def mapping(
        self, path: str, *, build_id: bytes = b"", kind: int = capture_pb2.Mapping.FILE, content_key: str = ""
    ) -> int:
        self.message.mappings.add(
            kind=kind, path=self.text(path), build_id=build_id, content_key=self.text(content_key)
        )
        return len(self.message.mappings) - 1

    def frame(self, mapping: int, *calls: Call) -> int:
        """Each frame has an address of its own; `calls` are what it stands for, innermost first."""
        frames = self.message.frames
        frames.mapping.append(mapping)
        frames.offset.append(16 * len(frames.mapping))
        frames.into_function.append(1)
        frames.flags.append(0)
        self._chains.append(calls)
        return len(frames.mapping) - 1

    def stack(self, frames: Sequence[int], end: int = capture_pb2.STACK_END_COMPLETE) -> int:
        """Leaf first, as the gateway sends them."""
        table = self.message.stacks
        table.frames.extend(frames)
        table.length.append(len(frames))
        table.end.append(end)
        return len(table.length) - 1

    def group(self, exe: str = "/usr/bin/app", *, comm: str = "app", **labels: str) -> int:
        user = [self.text(part) for pair in sorted(labels.items()) for part in pair]
        self.message.groups.add(comm=self.text(comm), exe=self.text(exe), labels=user, processes=1)
        return len(self.message.groups) - 1

    def kernel_thread(self, comm: str) -> int:
        self.message.groups.add(comm=self.text(comm), kernel_thread=True, processes=1)
        return len(self.message.groups) - 1

    def segment(
        self,
        samples: dict[int, dict[int, int]],
        *,
        event: str = "cpu",
        unit: str = "nanoseconds",
        period: int = PERIOD,
        stacks: bool = True,
    ) -> None:
        """`samples` by group, then by stack."""
        segment = self.message.segments.add(
            event=self.text(event),
            unit=self.text(unit),
            source=self.text(f"{event}-clock"),
            support=capture_pb2.SUPPORT_OK,
            period=period,
            requested_period=PERIOD,
            stacks=stacks,
            duration_ns=5_000_000_000,
            samples=sum(sum(counts.values()) for counts in samples.values()),
        )
        for group, counts in sorted(samples.items()):
            ordered = sorted(counts)
            deltas = [b - a for a, b in zip([0, *ordered], ordered, strict=False)]
            segment.profiles.add(group=group, stack_delta=deltas, count=[counts[s] for s in ordered])

    def finished(self) -> tuple[capture_pb2.Capture, ResolvedFrames]:
        del self.message.strings[:]
        self.message.strings.extend(self._strings)
        functions = list(dict.fromkeys(function for chain in self._chains for function, _ in chain))
        calls = [call for chain in self._chains for call in chain]
        resolved = ResolvedFrames(
            functions=tuple(functions),
            offsets=np.cumsum([0, *map(len, self._chains)], dtype=np.int64),
            function=np.array([functions.index(function) for function, _ in calls], np.int32),
            line=np.array([line for _, line in calls], np.int32),
            status=np.array([min(f.status for f, _ in chain) for chain in self._chains], np.uint8),
        )
        return self.message, resolved


def random_capture(
    visit_id: UUID, seed: int, *, resolved_better: bool = False, groups: int = 4, depth: int = 8
) -> tuple[capture_pb2.Capture, ResolvedFrames]:
    """A capture with recursion, inlined calls, kernel frames, incomplete walks and two segments of one event.

    With `resolved_better` the nameless functions of the library have their names, and inlined calls.
    """
    rng = random.Random(seed)
    made = SyntheticCapture(visit_id)
    app = made.mapping("/usr/bin/app", build_id=b"\x01" * 20)
    library = made.mapping("/usr/lib/lib.so", build_id=LIBRARY)
    kernel = made.mapping("[kernel]", build_id=b"\x02" * 20, kind=capture_pb2.Mapping.KERNEL)
    frames = []
    for i in range(30):
        own = named(f"f{i % 12}")
        inlined = (named(f"inline{i % 5}"), rng.randrange(1, 50))
        line = rng.randrange(1, 200)
        frames.append(made.frame(app, inlined, (own, line)) if i % 4 == 0 else made.frame(app, (own, line)))
    for i in range(12):
        start = 4096 + 256 * (i % 6)
        if resolved_better:
            real = named(f"real{i % 6}", binary="lib.so")
            frames.append(made.frame(library, (named("tiny", binary="lib.so"), 7), (real, 10 + i)))
        else:
            frames.append(made.frame(library, (nameless(start), 0)))
    in_kernel = [
        made.frame(kernel, (named(f"sys{i}", file="", binary="[kernel]", status=Status.SYMTAB), 0))
        for i in range(6)
    ]
    ends = [
        *[capture_pb2.STACK_END_COMPLETE] * 8,
        capture_pb2.STACK_END_TRUNCATED,
        capture_pb2.STACK_END_NO_UNWIND,
    ]
    stacks = []
    for _ in range(60):
        user = [rng.choice(frames) for _ in range(rng.randrange(1, depth))]
        stacks.append(made.stack(rng.sample(in_kernel, rng.randrange(3)) + user, rng.choice(ends)))
    members = [made.group(f"/usr/bin/app{g}", comm=f"app{g}") for g in range(groups)]
    members += [made.kernel_thread("kworker/0:1"), made.kernel_thread("kworker/1:0-events")]
    for period in (PERIOD, 2 * PERIOD):
        made.segment(
            {g: {s: rng.randrange(1, 400) for s in rng.sample(stacks, 20)} for g in members}, period=period
        )
    made.segment({members[0]: {stacks[0]: 3}}, event="page-faults", unit="count", period=1, stacks=False)
    return made.finished()


def expected_units(message: capture_pb2.Capture) -> Counter[str]:
    """Units sampled of every event: what no ingestion may change."""
    units: Counter[str] = Counter()
    for segment in message.segments:
        for profile in segment.profiles:
            units[message.strings[segment.event]] += sum(profile.count) * segment.period
    return units


def expected_stacks(
    message: capture_pb2.Capture, resolved: ResolvedFrames
) -> Counter[tuple[int, tuple[str, ...]]]:
    """Samples by (segment, function names outermost first, markers included), by loops."""
    ends = {
        capture_pb2.STACK_END_TRUNCATED: MARKERS[1].name,
        capture_pb2.STACK_END_NO_UNWIND: MARKERS[2].name,
    }
    stacks, at = [], 0
    for length, end in zip(message.stacks.length, message.stacks.end, strict=True):
        names = [
            resolved.functions[resolved.function[entry]].name
            for frame in message.stacks.frames[at : at + length]
            for entry in range(resolved.offsets[frame], resolved.offsets[frame + 1])
        ]
        at += length
        stacks.append((*((ends[end],) if end in ends else ()), *reversed(names)))
    samples: Counter[tuple[int, tuple[str, ...]]] = Counter()
    for number, segment in enumerate(message.segments):
        for profile in segment.profiles:
            for stack, count in zip(np.cumsum(profile.stack_delta).tolist(), profile.count, strict=True):
                samples[number, stacks[stack]] += count
    return samples
