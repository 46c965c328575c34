"""One capture as the rows it becomes, keys and all: everything before the landing transaction.

What is known about the visit comes from its row, fixed at the draw: day, hour, campaign, stratum.
What is known about the machine comes from the capture, as the machine was in that window.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import blake2b
from typing import Any
from uuid import UUID

import numpy as np

from fleetpb import capture_pb2
from storage.landing import stacks
from storage.landing.codec import encode
from storage.landing.images import KERNEL_MODE, image_of
from storage.landing.interning import Interner
from storage.landing.labels import Labels, clean, derive
from storage.landing.lines import encode_lines
from storage.landing.markers import LEFT_OUT, MARKERS, Kind
from storage.landing.resolved import ResolvedFrames, Status

_STATUS = {
    capture_pb2.SUPPORT_OK: "ok",
    capture_pb2.SUPPORT_UNSUPPORTED: "unsupported",
    capture_pb2.SUPPORT_DENIED: "denied",
    capture_pb2.SUPPORT_BUSY: "busy",
    capture_pb2.SUPPORT_NOT_COUNTED: "not_counted",
}
_INT4_MAX = (1 << 31) - 1
_INT8_MAX = (1 << 63) - 1
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class VisitFacts:
    """What landing takes from the rows of the visit, its stratum and its machine."""

    visit_id: UUID
    day: date
    hour: int
    campaign_id: int
    stratum_id: int
    machine_id: int
    datacenter: str
    cluster: str
    platform: str
    kernel: str


@dataclass(frozen=True, slots=True)
class Assembly:
    """Rows of one capture, by table; the first columns of each are those of its `*_COLUMNS`."""

    profiles: list[Row]
    chunks: list[Row]
    line_chunks: list[Row]
    segments: list[Row]
    binaries: list[Row]
    cpus: list[Row]
    counters: list[Row]
    facts: int
    samples: int


PROFILE_COLUMNS = (
    "day", "profile_id", "visit_id", "generation", "campaign_id", "stratum_id", "hour", "sample_type_id",
    "stacks", "segment", "machine_id", "application", "version", "image", "build_id", "container", "job",
    "compiler", "datacenter", "cluster", "platform", "kernel", "label_set_id", "facts", "samples", "period",
)  # fmt: skip
CHUNK_COLUMNS = ("day", "profile_id", "data")
LINE_CHUNK_COLUMNS = ("day", "profile_id", "facts", "data")
SEGMENT_COLUMNS = (
    "visit_id", "segment", "day", "event", "sample_type_id", "stacks", "source", "status", "errno", "seconds",
    "period", "requested_period", "thinned_why", "samples", "lost",
)  # fmt: skip
BINARY_COLUMNS = ("binary_id", "visit_id", "day", "samples", "unresolved")
CPU_COLUMNS = (
    "visit_id", "cpu", "day", "core", "package", "numa_node", "user_ms", "system_ms", "idle_ms", "iowait_ms",
    "irq_ms", "steal_ms", "mhz",
)  # fmt: skip
COUNTER_COLUMNS = (
    "visit_id", "reading", "name", "cpu", "application", "day", "status", "errno", "value", "time_enabled_ns",
    "time_running_ns",
)  # fmt: skip
_OWN_DIMENSIONS = ("application", "version", "image", "build_id", "container", "job", "compiler")
_MACHINE_DIMENSIONS = ("datacenter", "cluster", "platform", "kernel")


def assemble(
    interner: Interner,
    visit: VisitFacts,
    generation: int,
    capture: capture_pb2.Capture,
    resolved: ResolvedFrames,
) -> Assembly:
    """The rows of a capture that `decode_capture` accepted; new dictionary rows are committed on the way."""
    if len(resolved.offsets) != len(capture.frames.mapping) + 1 or len(resolved.status) != len(
        capture.frames.mapping
    ):
        raise ValueError("resolved frames are not those of the capture")
    function_ids = interner.functions(
        (*resolved.functions, *MARKERS), [*_kinds(capture, resolved), *([Kind.MARKER] * len(MARKERS))]
    )
    calls = stacks.entries(capture.stacks, resolved, function_ids)
    distinct = stacks.function_stacks(calls, int(function_ids[len(resolved.functions) + LEFT_OUT]))
    stack_ids = interner.stacks(distinct.stacks)[distinct.of].astype(np.int64)

    # Groups whose labels are equal (kworker/0:1 and kworker/1:0) are one profile.
    labels = [derive(capture, group) for group in capture.groups]
    keys = [_label_key(each) for each in labels]
    distinct_keys = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    label_of_group = np.array([distinct_keys[key] for key in keys], np.int64)
    label_rows = _label_rows(interner, [labels[keys.index(key)] for key in distinct_keys])
    machine = _machine_ids(interner, visit, capture)
    sample_types = interner.sample_types(
        [
            (clean(capture.strings[s.event]), clean(capture.strings[s.unit]))
            for s in capture.segments
            if _sampled(s)
        ]
    ).tolist()

    profiles: list[Row] = []
    chunks: list[Row] = []
    line_chunks: list[Row] = []
    segments: list[Row] = []
    per_stack = np.zeros(len(capture.stacks.length), np.int64)
    for number, segment in enumerate(capture.segments):
        sample_type = sample_types.pop(0) if _sampled(segment) else None
        group, stack, count = stacks.facts_of(segment.profiles)
        segments.append(_segment_row(visit, capture.strings, number, segment, sample_type))
        if sample_type is None or not len(count):
            continue
        np.add.at(per_stack, stack, count)
        label = label_of_group[np.array([p.group for p in segment.profiles], np.int64)[group]]
        present, owner = np.unique(label, return_inverse=True)
        facts = stacks.sum_by_key(owner, stack_ids[stack], count, len(present))
        lines = stacks.line_counts(calls, owner, stack, count, len(present))
        for i, which in enumerate(present.tolist()):
            ids = facts.key[facts.offsets[i] : facts.offsets[i + 1]]
            counts = facts.total[facts.offsets[i] : facts.offsets[i + 1]]
            profile_id = _profile_id(visit.visit_id, number, list(distinct_keys)[which])
            own, label_set = label_rows[which]
            profiles.append((
                visit.day, profile_id, visit.visit_id, generation, visit.campaign_id, visit.stratum_id, visit.hour,
                sample_type, segment.stacks, number, visit.machine_id, *own, *machine, label_set,
                len(ids), int(counts.sum()), min(segment.period, _INT8_MAX),
            ))  # fmt: skip
            chunks.append((visit.day, profile_id, encode(ids, counts)))
            if len(lines[i].line):
                line_chunks.append((visit.day, profile_id, len(lines[i].line), encode_lines(lines[i])))
    applications = [label_rows[i][0][0] for i in label_of_group.tolist()]
    return Assembly(
        profiles=profiles,
        chunks=chunks,
        line_chunks=line_chunks,
        segments=segments,
        binaries=_binary_rows(interner, visit, capture, resolved, per_stack),
        cpus=[_cpu_row(visit, usage) for usage in capture.cpus],
        counters=_counter_rows(visit, capture, applications),
        facts=sum(row[PROFILE_COLUMNS.index("facts")] for row in profiles),
        samples=sum(row[PROFILE_COLUMNS.index("samples")] for row in profiles),
    )


def _sampled(segment: capture_pb2.Segment) -> bool:
    return segment.support == capture_pb2.SUPPORT_OK


def _kinds(capture: capture_pb2.Capture, resolved: ResolvedFrames) -> list[Kind]:
    """Kernel or user for every function: what its frames' images are."""
    in_kernel = np.array([m.kind in KERNEL_MODE for m in capture.mappings] or [False])
    frames = in_kernel[np.array(capture.frames.mapping, np.int64)]
    kinds = np.full(len(resolved.functions), Kind.USER, np.int8)
    kinds[resolved.function[np.repeat(frames, np.diff(resolved.offsets))]] = Kind.KERNEL
    return [Kind(kind) for kind in kinds.tolist()]


def _label_key(labels: Labels) -> str:
    own = [getattr(labels, name) for name in _OWN_DIMENSIONS]
    return "\0".join([*own, *(f"{k}\1{v}" for k, v in labels.others.items())])


def _label_rows(interner: Interner, labels: list[Labels]) -> list[tuple[list[int], int]]:
    """For each set of labels the ids of its own dimensions and of the rest as a label set."""
    dimensions = [interner.labels(dim, [getattr(each, dim) for each in labels]) for dim in _OWN_DIMENSIONS]
    sets = interner.label_sets([each.others for each in labels])
    return [([int(ids[i]) for ids in dimensions], int(sets[i])) for i in range(len(labels))]


def _machine_ids(interner: Interner, visit: VisitFacts, capture: capture_pb2.Capture) -> list[int]:
    values = {
        "datacenter": visit.datacenter,
        "cluster": visit.cluster,
        "platform": capture.machine.platform or visit.platform,
        "kernel": capture.machine.kernel_release or visit.kernel,
    }
    return [int(interner.labels(dim, [clean(values[dim])])[0]) for dim in _MACHINE_DIMENSIONS]


def _profile_id(visit_id: UUID, segment: int, labels: str) -> int:
    key = visit_id.bytes + segment.to_bytes(4, "little") + labels.encode("utf-8", "replace")
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big") >> 1


def _segment_row(
    visit: VisitFacts,
    strings: Sequence[str],
    number: int,
    segment: capture_pb2.Segment,
    sample_type: int | None,
) -> Row:
    return (
        visit.visit_id, number, visit.day, strings[segment.event], sample_type, segment.stacks, strings[segment.source],
        _STATUS.get(segment.support, "unsupported"), segment.errno, segment.duration_ns / 1e9,
        min(segment.period, _INT8_MAX), min(segment.requested_period, _INT8_MAX), strings[segment.thinned_why],
        segment.samples, min(sum(segment.lost), _INT8_MAX) if segment.lost else None,
    )  # fmt: skip


def _binary_rows(
    interner: Interner,
    visit: VisitFacts,
    capture: capture_pb2.Capture,
    resolved: ResolvedFrames,
    per_stack: stacks.Int64s,
) -> list[Row]:
    """Which images the samples went through, and where names are missing."""
    images = [image_of(capture, mapping) for mapping in capture.mappings]
    kept = [i for i, image in enumerate(images) if image.kind not in ("anonymous", "unknown")]
    if not kept:
        return []
    # Two mappings can be one image (an upgraded file beside its deleted self, by path only).
    keys = list(dict.fromkeys(images[i].key for i in kept))
    first = {images[i].key: images[i] for i in reversed(kept)}
    index = np.full(len(images), -1, np.int64)
    index[kept] = [keys.index(images[i].key) for i in kept]
    frames = np.array(capture.stacks.frames, np.int64)
    image = index[np.array(capture.frames.mapping, np.int64)[frames]]
    owner = np.repeat(np.arange(len(per_stack)), np.array(capture.stacks.length, np.int64))
    nameless = resolved.status[frames] < Status.SYMTAB
    samples = _samples_through(owner, image, per_stack, image >= 0, len(keys))
    unresolved = _samples_through(owner, image, per_stack, (image >= 0) & nameless, len(keys))
    ids = interner.binaries([first[key] for key in keys]).tolist()
    rows = zip(ids, samples.tolist(), unresolved.tolist(), strict=True)
    return [(id_, visit.visit_id, visit.day, through, without) for id_, through, without in rows if through]


def _samples_through(
    owner: stacks.Int64s, image: stacks.Int64s, per_stack: stacks.Int64s, take: stacks.Bools, images: int
) -> stacks.Int64s:
    """Samples whose stack has a taken frame of each image; a stack counts once."""
    once = np.unique(owner[take] * images + image[take])
    stack, which = np.divmod(once, images)
    total = np.zeros(images, np.int64)
    np.add.at(total, which, per_stack[stack])
    return total


def _cpu_row(visit: VisitFacts, usage: capture_pb2.CpuUsage) -> Row:
    place = [n if n >= 0 else None for n in (usage.core, usage.package, usage.numa_node)]
    states = (usage.user_ms, usage.system_ms, usage.idle_ms, usage.iowait_ms, usage.irq_ms, usage.steal_ms)
    return (
        visit.visit_id, usage.cpu, visit.day, *place, *(min(ms, _INT4_MAX) for ms in states), usage.mhz or None,
    )  # fmt: skip


def _counter_rows(visit: VisitFacts, capture: capture_pb2.Capture, applications: list[int]) -> list[Row]:
    rows: list[Row] = []
    for reading, group in enumerate(capture.counters):
        application = applications[group.group - 1] if group.group else 0
        for counter in group.counters:
            status = _STATUS.get(counter.support, "unsupported")
            rows.append((
                visit.visit_id, reading, clean(capture.strings[counter.name]), group.cpu, application, visit.day, status,
                counter.errno, min(counter.value, _INT8_MAX) if status == "ok" else None,
                min(group.time_enabled_ns, _INT8_MAX), min(group.time_running_ns, _INT8_MAX),
            ))  # fmt: skip
    return rows
