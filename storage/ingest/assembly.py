"""Assemble captures into rows with all keys: everything before the ingestion transaction.

Properties of the visit come from its row, fixed at the draw: day, hour, campaign, stratum. Properties of the machine
come from the capture, as they were in its window. Several captures are assembled together, so that rows missing from
the dictionaries are looked up and inserted once for all of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeVar
from uuid import UUID

import numpy as np

from fleetpb import capture_pb2
from storage.arrays import sum_at
from storage.blobs.fact_blobs import encode_lines_many, encode_many
from storage.ingest import function_stacks
from storage.ingest.binary_images import KERNEL_MODE
from storage.ingest.counter_rows import counter_rows
from storage.ingest.function_stacks import Calls
from storage.ingest.hash_table import Ids, Int64s
from storage.ingest.interning import Interner
from storage.ingest.line_counts import line_counts
from storage.ingest.marker_frames import MARKERS, Kind
from storage.ingest.new_stacks import new_rows
from storage.ingest.profile_labels import Who, groups_of, machines_of, sample_types_of
from storage.ingest.symbolized import ResolvedFrames
from storage.ingest.system_rows import cpu_rows, system_rows
from storage.ingest.table_rows import TableRows, VisitFacts
from storage.ingest.window_rows import binary_rows, segment_rows
from storage.schema import OF_THE_GROUP, OF_THE_MACHINE, chunk, line_chunk, profile


@dataclass(frozen=True, slots=True)
class Material:
    """The input of an assembly: a capture that `decode_capture` accepted."""

    visit: VisitFacts
    generation: int
    capture: capture_pb2.Capture
    resolved: ResolvedFrames


@dataclass(frozen=True, slots=True)
class Assembly:
    """All rows of a capture, except dictionary rows."""

    tables: tuple[TableRows, ...]
    """The same tables in the same order for every capture."""
    profiles: int
    facts: int
    samples: int
    watched: bool
    """Whether any event was sampled, with or without samples: then the visit counts as exposure."""


@dataclass(frozen=True, slots=True)
class _Facts:
    """The samples of a capture's segments by profile."""

    segment: list[int]
    """The segment number of each profile."""
    labels: list[int]
    """For each profile the index of its labels in `Who`."""
    profile: Int64s
    stack: Int64s
    count: Int64s


def assemble(interner: Interner, materials: Sequence[Material]) -> list[Assembly]:
    """Assemble the rows of the captures, in order; new dictionary rows are committed meanwhile.

    Raises ValueError if resolved frames do not match their capture, and `DatabaseError`s.
    """
    for material in materials:
        frames = len(material.capture.frames.mapping)
        if len(material.resolved.offsets) != frames + 1 or len(material.resolved.status) != frames:
            raise ValueError("the resolved frames do not match the capture")
    captures = [material.capture for material in materials]
    calls = _calls(interner, materials)
    whos = groups_of(interner, captures)
    machines = machines_of(interner, [(material.visit, material.capture) for material in materials])
    types = sample_types_of(interner, captures)
    facts = [_facts(*each) for each in zip(captures, whos, types, strict=True)]
    stack_ids = _stack_ids(interner, calls, facts, whos)
    return [_assembled(interner, *each) for each in zip(
        materials, calls, whos, machines, types, facts, stack_ids, strict=True
    )]  # fmt: skip


def _assembled(  # noqa: PLR0917 - all that is known of one capture
    interner: Interner,
    material: Material,
    calls: Calls,
    who: Who,
    machine: Sequence[int],
    types: Sequence[int | None],
    facts: _Facts,
    stack_ids: Int64s,
) -> Assembly:
    visit, capture = material.visit, material.capture
    profiles = TableRows(
        profile,
        ("day", "profile_id", "visit_id", "generation", "campaign_id", "stratum_id", "hour", "machine_id",
         "sample_type_id", "stacks", "segment", "period", "label_set_id", *OF_THE_GROUP, *OF_THE_MACHINE,
         "facts", "samples"),
    )  # fmt: skip
    chunks = TableRows(chunk, ("day", "profile_id", "data"))
    line_chunks = TableRows(line_chunk, ("day", "profile_id", "facts", "data"))

    count = len(facts.segment)
    summed = function_stacks.sum_by_key(facts.profile, stack_ids[facts.stack], facts.count, count)
    rows = np.diff(summed.offsets)
    blobs = encode_many(summed.key, summed.total, rows)
    samples = np.add.reduceat(summed.total, summed.offsets[:-1]) if count else rows
    lines = line_counts(calls, facts.profile, facts.stack, facts.count, count)
    line_sizes = np.diff(lines.offsets)
    line_blobs = encode_lines_many(lines.lines, line_sizes)
    for i, (number, label) in enumerate(zip(facts.segment, facts.labels, strict=True)):
        segment = capture.segments[number]
        id_ = profile_id(visit.visit_id, number, who.keys[label])
        profiles.add(
            visit.day, id_, visit.visit_id, material.generation, visit.campaign_id, visit.stratum_id,
            visit.hour, visit.machine_id, types[number], segment.stacks, number, segment.period,
            who.label_sets[label], *who.dimensions[label], *machine, int(rows[i]), int(samples[i]),
        )  # fmt: skip
        chunks.add(visit.day, id_, blobs[i])
        if line_sizes[i]:
            line_chunks.add(visit.day, id_, int(line_sizes[i]), line_blobs[i])

    # Samples of all events, and nanoseconds of CPU: how much of each a binary without names hides.
    cpu_ns = np.array([_cpu_ns(capture, number) for number in facts.segment], np.int64)
    per_stack = np.stack([
        sum_at(facts.stack, counts, len(capture.stacks.length))
        for counts in (facts.count, facts.count * cpu_ns[facts.profile])
    ])  # fmt: skip
    tables = (
        profiles,
        chunks,
        line_chunks,
        segment_rows(visit, capture, types),
        binary_rows(interner, visit, capture, material.resolved, per_stack),
        cpu_rows(visit, capture),
        system_rows(visit, capture),
        counter_rows(visit, capture, who.applications),
    )
    watched = any(sample_type is not None for sample_type in types)
    return Assembly(tables, count, len(summed.key), int(per_stack[0].sum()), watched)


def _cpu_ns(capture: capture_pb2.Capture, segment: int) -> int:
    """Nanoseconds of CPU per sample of the segment; 0 for other events."""
    one = capture.segments[segment]
    counts = one.stacks and capture.strings[one.event] == "cpu" and capture.strings[one.unit] == "nanoseconds"
    return one.period if counts else 0


def _calls(interner: Interner, materials: Sequence[Material]) -> list[Calls]:
    names = [(*material.resolved.functions, *MARKERS) for material in materials]
    markers = np.full(len(MARKERS), Kind.MARKER, np.int8)
    kinds = np.concatenate(
        [part for material in materials for part in (kinds_of(material.capture, material.resolved), markers)]
    ).tolist()
    ids = _for_all(lambda every: interner.functions(every, kinds), names)
    # Fold before stacks and lines are derived: a line must not count samples that its function lacks.
    return [
        function_stacks.fold(
            function_stacks.calls_of(material.capture.stacks, material.resolved, function_ids)
        )
        for material, function_ids in zip(materials, ids, strict=True)
    ]


def kinds_of(
    capture: capture_pb2.Capture, resolved: ResolvedFrames
) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    """`Kind.KERNEL` or `Kind.USER` for every function, by the images of its frames."""
    in_kernel = np.array([m.kind in KERNEL_MODE for m in capture.mappings] or [False])
    frames = in_kernel[np.array(capture.frames.mapping, np.int64)]
    kinds = np.full(len(resolved.functions), Kind.USER, np.int8)
    kinds[resolved.function[np.repeat(frames, np.diff(resolved.offsets))]] = Kind.KERNEL
    return kinds


def _facts(capture: capture_pb2.Capture, who: Who, types: Sequence[int | None]) -> _Facts:
    sent: list[capture_pb2.GroupProfile] = []
    segment: list[int] = []
    for number, (each, sample_type) in enumerate(zip(capture.segments, types, strict=True)):
        if sample_type is not None:
            filled = [profile for profile in each.profiles if profile.count]
            sent += filled
            segment += [number] * len(filled)
    facts = function_stacks.facts_of(sent)
    labels = who.of_group[[profile.group for profile in sent]] if sent else np.empty(0, np.int64)
    # Groups that differ only in properties that are not stored are one profile.
    keys, profile = np.unique(np.array(segment, np.int64) << 32 | labels, return_inverse=True)
    return _Facts(
        (keys >> 32).tolist(), (keys & 0xFFFFFFFF).tolist(), profile[facts.profile], facts.stack, facts.count
    )


def _stack_ids(
    interner: Interner, calls: Sequence[Calls], facts: Sequence[_Facts], whos: Sequence[Who]
) -> list[Int64s]:
    """For every capture the ids of its stacks in the dictionary."""
    distinct = [function_stacks.function_stacks(each) for each in calls]

    def homes() -> list[Int64s]:
        applications = []
        for each, part, who in zip(distinct, facts, whos, strict=True):
            of_profile = np.array([who.dimensions[label][0] for label in part.labels], np.int64)
            of_stack = np.zeros(len(each.of), np.int64)
            of_stack[part.stack] = of_profile[part.profile]
            applications.append(of_stack)
        return applications

    ids = interner.stacks(
        np.concatenate([each.hashes for each in distinct]), lambda asked: new_rows(distinct, homes(), asked)
    )
    ends = np.cumsum([len(each.first) for each in distinct])
    return [
        part[each.of].astype(np.int64) for part, each in zip(np.split(ids, ends[:-1]), distinct, strict=True)
    ]


Name = TypeVar("Name")


def _for_all(intern: Callable[[Sequence[Name]], Ids], parts: Sequence[Sequence[Name]]) -> list[Ids]:
    """Intern the keys of all parts at once; the ids of each part."""
    ids = intern([name for part in parts for name in part])
    return np.split(ids, np.cumsum([len(part) for part in parts])[:-1])


def profile_id(visit_id: UUID, segment: int, labels: str) -> int:
    """Id of the profile of process groups with these labels (`storage.ingest.profile_labels.key_of_group`)."""
    key = visit_id.bytes + segment.to_bytes(4, "little") + labels.encode("utf-8", "replace")
    return int.from_bytes(blake2b(key, digest_size=8).digest(), "big") >> 1
