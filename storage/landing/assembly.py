"""One capture as the rows it becomes, keys and all: everything before the landing transaction.

What is known about the visit comes from its row, fixed at the draw: day, hour, campaign, stratum.
What is known about the machine comes from the capture, as the machine was in that window.
"""

from dataclasses import dataclass
from hashlib import blake2b
from uuid import UUID

import numpy as np

from fleetpb import capture_pb2
from storage.landing import stacks
from storage.landing.codec import encode
from storage.landing.images import KERNEL_MODE
from storage.landing.interning import Interner
from storage.landing.labels import Labels, clean, derive
from storage.landing.lines import encode_lines
from storage.landing.markers import LEFT_OUT, MARKERS, Kind
from storage.landing.observations import binary_rows, counter_rows, cpu_rows, segment_rows
from storage.landing.resolved import ResolvedFrames
from storage.landing.rows import TableRows, VisitFacts
from storage.schema import chunk, line_chunk, profile

_OF_THE_GROUP = ("application", "version", "image", "build_id", "container", "job", "compiler")
_OF_THE_MACHINE = ("datacenter", "cluster", "platform", "kernel")


@dataclass(frozen=True, slots=True)
class Assembly:
    """Everything a capture becomes, dictionaries apart."""

    tables: tuple[TableRows, ...]
    profiles: int
    facts: int
    samples: int
    watched: bool
    """Some event was sampled, whether or not anything ran: the visit counts as exposure."""


@dataclass(frozen=True, slots=True)
class _Who:
    """The labels of a capture's process groups, as ids; groups with equal labels are one."""

    of_group: stacks.Int64s
    """For every group of the capture its index in the lists below."""
    keys: list[str]
    """What tells the labels apart, as text."""
    dimensions: list[list[int]]
    """Ids in the order of `_OF_THE_GROUP`."""
    label_sets: list[int]


def assemble(
    interner: Interner,
    visit: VisitFacts,
    generation: int,
    capture: capture_pb2.Capture,
    resolved: ResolvedFrames,
) -> Assembly:
    """The rows of a capture that `decode_capture` accepted; new dictionary rows are committed on the way."""
    frames = len(capture.frames.mapping)
    if len(resolved.offsets) != frames + 1 or len(resolved.status) != frames:
        raise ValueError("resolved frames are not those of the capture")
    function_ids = interner.functions(
        (*resolved.functions, *MARKERS), [*_kinds(capture, resolved), *([Kind.MARKER] * len(MARKERS))]
    )
    calls = stacks.entries(capture.stacks, resolved, function_ids)
    distinct = stacks.function_stacks(calls, int(function_ids[len(resolved.functions) + LEFT_OUT]))
    stack_ids = interner.stacks(distinct.stacks)[distinct.of].astype(np.int64)
    who = _who(interner, capture)
    machine = _machine(interner, visit, capture)
    sample_types = _sample_types(interner, capture)

    profiles = TableRows(
        profile,
        ("day", "profile_id", "visit_id", "generation", "campaign_id", "stratum_id", "hour", "machine_id",
         "sample_type_id", "stacks", "segment", "period", "label_set_id", *_OF_THE_GROUP, *_OF_THE_MACHINE,
         "facts", "samples"),
    )  # fmt: skip
    chunks = TableRows(chunk, ("day", "profile_id", "data"))
    line_chunks = TableRows(line_chunk, ("day", "profile_id", "facts", "data"))
    per_stack = np.zeros(len(capture.stacks.length), np.int64)
    facts = 0
    for number, (segment, sample_type) in enumerate(zip(capture.segments, sample_types, strict=True)):
        sent, stack, count = stacks.facts_of(segment.profiles)
        if sample_type is None or not len(count):
            continue
        np.add.at(per_stack, stack, count)
        labels = who.of_group[np.array([p.group for p in segment.profiles], np.int64)[sent]]
        present, group = np.unique(labels, return_inverse=True)
        summed = stacks.sum_by_key(group, stack_ids[stack], count, len(present))
        lines = stacks.line_counts(calls, group, stack, count, len(present))
        facts += len(summed.key)
        for i, which in enumerate(present.tolist()):
            mine = slice(summed.offsets[i], summed.offsets[i + 1])
            ids, counts = summed.key[mine], summed.total[mine]
            profile_id = _profile_id(visit.visit_id, number, who.keys[which])
            profiles.add(
                visit.day, profile_id, visit.visit_id, generation, visit.campaign_id, visit.stratum_id, visit.hour,
                visit.machine_id, sample_type, segment.stacks, number, segment.period, who.label_sets[which],
                *who.dimensions[which], *machine, len(ids), int(counts.sum()),
            )  # fmt: skip
            chunks.add(visit.day, profile_id, encode(ids, counts))
            if len(lines[i].line):
                line_chunks.add(visit.day, profile_id, len(lines[i].line), encode_lines(lines[i]))

    applications = [who.dimensions[i][0] for i in who.of_group.tolist()]
    tables = (
        profiles,
        chunks,
        line_chunks,
        segment_rows(visit, capture, sample_types),
        binary_rows(interner, visit, capture, resolved, per_stack),
        cpu_rows(visit, capture),
        counter_rows(visit, capture, applications),
    )
    watched = any(sample_type is not None for sample_type in sample_types)
    return Assembly(tables, len(profiles.rows), facts, int(per_stack.sum()), watched)


def _kinds(capture: capture_pb2.Capture, resolved: ResolvedFrames) -> list[Kind]:
    """Kernel or user for every function: what its frames' images are."""
    in_kernel = np.array([m.kind in KERNEL_MODE for m in capture.mappings] or [False])
    frames = in_kernel[np.array(capture.frames.mapping, np.int64)]
    kinds = np.full(len(resolved.functions), Kind.USER, np.int8)
    kinds[resolved.function[np.repeat(frames, np.diff(resolved.offsets))]] = Kind.KERNEL
    return [Kind(kind) for kind in kinds.tolist()]


def _who(interner: Interner, capture: capture_pb2.Capture) -> _Who:
    by_key: dict[str, Labels] = {}
    keys = []
    for group in capture.groups:
        labels = derive(capture, group)
        keys.append(_key(labels))
        by_key.setdefault(keys[-1], labels)
    different = list(by_key.values())
    columns = [
        interner.labels(dim, [getattr(each, dim) for each in different]).tolist() for dim in _OF_THE_GROUP
    ]
    number = {key: n for n, key in enumerate(by_key)}
    return _Who(
        of_group=np.array([number[key] for key in keys], np.int64),
        keys=list(by_key),
        dimensions=[[column[n] for column in columns] for n in range(len(different))],
        label_sets=interner.label_sets([each.others for each in different]).tolist(),
    )


def _key(labels: Labels) -> str:
    own = [getattr(labels, name) for name in _OF_THE_GROUP]
    return "\0".join([*own, *(f"{k}\1{v}" for k, v in labels.others.items())])


def _machine(interner: Interner, visit: VisitFacts, capture: capture_pb2.Capture) -> list[int]:
    values = {
        "datacenter": visit.datacenter,
        "cluster": visit.cluster,
        "platform": capture.machine.platform or visit.platform,
        "kernel": capture.machine.kernel_release or visit.kernel,
    }
    return [int(interner.labels(dim, [clean(values[dim])])[0]) for dim in _OF_THE_MACHINE]


def _sample_types(interner: Interner, capture: capture_pb2.Capture) -> list[int | None]:
    """For every segment its sample type; None where the event could not be sampled."""
    strings = capture.strings
    sampled = [i for i, s in enumerate(capture.segments) if s.support == capture_pb2.SUPPORT_OK]
    pairs = [
        (clean(strings[capture.segments[i].event]), clean(strings[capture.segments[i].unit])) for i in sampled
    ]
    types: list[int | None] = [None] * len(capture.segments)
    for i, id_ in zip(sampled, interner.sample_types(pairs).tolist(), strict=True):
        types[i] = id_
    return types


def _profile_id(visit_id: UUID, segment: int, labels: str) -> int:
    key = visit_id.bytes + segment.to_bytes(4, "little") + labels.encode("utf-8", "replace")
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big") >> 1
