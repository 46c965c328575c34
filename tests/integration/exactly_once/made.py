"""Captures whose every sample is known, and what an ingestion must make of them, computed by loops.

A capture is one of a few *patterns*: two segments of one event at different rates, a flat event, groups with
equal labels, nameless functions, walks cut short, an idle machine, a machine sampled flat.
"""

import functools
import random
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from fleetpb import capture_pb2
from storage.ingest.marker_frames import MARKERS
from storage.ingest.process_labels import Labels
from storage.ingest.symbolized import FunctionName, ResolvedFrames, Status
from tests.synthetic_captures import LIBRARY, PERIOD, Call, SyntheticCapture, named, nameless

PATTERNS = 6
IDLE, FLAT = 4, 5
"""Patterns of a machine without a sample, and of one without stacks."""
SEGMENT_S = 5.0

Names = tuple[str, ...]
"""A stack's functions, outermost first."""
Fact = tuple[int, str, str, Names]
"""Segment, application, version, stack."""
Facts = Mapping[Fact, int]
"""Samples."""
REAL = {f"lib.so+{4096 + 256 * i:#x}": named(f"real{i}", binary="lib.so") for i in range(4)}
"""What the nameless functions turn out to be called."""


def plain(name: str) -> str:
    """What a function turns out to be called, whether it is called so already or not.

    An ingestion without symbols after the naming finds the named one; one after the nameless row, which
    nobody used any more, was swept makes it again.
    """
    return REAL[name].name if name in REAL else name


STARTS = {4096 + 256 * i: named(f"real{i}", binary="lib.so") for i in range(4)}


@dataclass(frozen=True, slots=True)
class Segment:
    """One stretch of one event; `groups` has samples by group and stack."""

    event: str
    unit: str
    period: int
    stacks: bool
    groups: Mapping[int, Mapping[int, int]]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A capture without its visit."""

    message: capture_pb2.Capture
    resolved: ResolvedFrames
    segments: tuple[Segment, ...]
    stacks: tuple[Names, ...]
    groups: tuple[tuple[str, str], ...]
    """(application, version) of each group."""

    def of(self, visit_id: UUID) -> capture_pb2.Capture:
        """The capture as that visit's."""
        message = capture_pb2.Capture()
        message.CopyFrom(self.message)
        message.visit_id = visit_id.bytes
        return message

    def facts(self, *, other_labels: bool) -> Facts:
        """What an ingestion leaves, every function called as it will be (`plain`)."""
        sums: dict[Fact, int] = {}
        for number, segment in enumerate(self.segments):
            for group, counts in segment.groups.items():
                application, version = self.groups[group]
                if other_labels:
                    application, version = other(application), ""
                for stack, count in counts.items():
                    fact = (number, application, version, tuple(map(plain, self.stacks[stack])))
                    sums[fact] = sums.get(fact, 0) + count
        return sums


def other(application: str) -> str:
    """The application under the other configuration of labels: several become one."""
    return f"team-{len(application) % 2}"


def other_labels(capture: capture_pb2.Capture, group: capture_pb2.ProcessGroup) -> Labels:
    """What takes the place of `storage.ingest.process_labels.derive` when the configuration has changed."""
    strings = capture.strings
    user = {strings[k]: strings[v] for k, v in zip(group.labels[::2], group.labels[1::2], strict=True)}
    application = "[kworker]" if group.kernel_thread else user["application"]
    return Labels(other(application), "", "", "", "", "", "")


def pattern(seed: int, better: bool) -> Pattern:
    """The pattern of a seed; `better`: symbolized once the library's symbols are there."""
    return _pattern(seed % PATTERNS, better)


@functools.cache
def _pattern(number: int, better: bool) -> Pattern:
    rng = random.Random(number)
    made = SyntheticCapture(UUID(int=0))
    app = made.mapping("/usr/bin/app", build_id=b"\x01" * 20)
    library = made.mapping("/usr/lib/lib.so", build_id=LIBRARY)
    kernel = made.mapping("[kernel]", build_id=b"\x02" * 20, kind=capture_pb2.Mapping.KERNEL)
    chains: list[tuple[Call, ...]] = []

    def frame(mapping: int, *calls: Call) -> int:
        chains.append(calls)
        return made.frame(mapping, *calls)

    users = []
    for i in range(10):
        call = (named(f"f{i}"), 10 + i)
        inlined = ((named(f"inline{i % 3}"), 3),) if i % 4 == 0 else ()
        users.append(frame(app, *inlined, call))
    for i in range(6):
        start = 4096 + 256 * (i % 4)
        if better:
            tiny = (named("tiny", binary="lib.so"), 7)
            users.append(frame(library, tiny, (STARTS[start], 10 + i)))
        else:
            users.append(frame(library, (nameless(start), 0)))
    syscalls = [frame(kernel, (_syscall(i), 0)) for i in range(3)]
    names: list[Names] = []
    for i in range(16):
        frames = rng.sample(syscalls, rng.randrange(2)) + [
            rng.choice(users) for _ in range(rng.randrange(1, 6))
        ]
        cut = i % 5 == 0
        made.stack(frames, capture_pb2.STACK_END_TRUNCATED if cut else capture_pb2.STACK_END_COMPLETE)
        names.append(((MARKERS[1].name,) if cut else ()) + _outermost_first(frames, chains))
    flat = []
    for one in users[:5]:
        flat.append(made.stack([one]))
        names.append(_outermost_first([one], chains))

    groups = []
    for application, version in (("web", "v1"), ("web", "v2"), ("search", "v1"), ("batch", "v9")):
        made.group(f"/opt/{application}", comm=application, application=application, version=version)
        groups.append((application, version))
    for comm in ("kworker/0:1", "kworker/1:0-events"):  # one application of two groups
        made.kernel_thread(comm)
        groups.append(("[kworker]", "6.18.0"))
    members = sorted({*rng.sample(range(4), 3), 4, 5})

    def samples(stacks: list[int], most: int) -> dict[int, dict[int, int]]:
        return {g: {s: rng.randrange(1, most) for s in sorted(rng.sample(stacks, 5))} for g in members}

    walks = list(range(16))
    cpu = ("cpu", "nanoseconds")
    if number == IDLE:
        segments = [Segment(*cpu, PERIOD, True, {})]
    elif number == FLAT:
        segments = [Segment(*cpu, PERIOD, False, samples(flat, 40))]
    else:
        segments = [
            Segment(*cpu, PERIOD, True, samples(walks, 300)),
            Segment(*cpu, 2 * PERIOD, True, samples(walks, 20)),
            Segment("page-faults", "count", 1, False, {members[0]: {flat[0]: 3, flat[1]: 1}}),
        ]
    for segment in segments:
        made.segment(
            {g: dict(counts) for g, counts in segment.groups.items()},
            event=segment.event,
            unit=segment.unit,
            period=segment.period,
            stacks=segment.stacks,
        )
    message, resolved = made.finished()
    return Pattern(message, resolved, tuple(segments), tuple(names), tuple(groups))


def _syscall(number: int) -> FunctionName:
    return named(f"sys{number}", file="", binary="[kernel]", status=Status.SYMTAB)


def _outermost_first(frames: list[int], chains: list[tuple[Call, ...]]) -> Names:
    innermost_first = [function.name for frame in frames for function, _ in chains[frame]]
    return tuple(reversed(innermost_first))
