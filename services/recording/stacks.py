"""A capture with named frames as the table of stacks that profile files are written from. Pure."""

from dataclasses import dataclass

import numpy as np

from fleetpb import capture_pb2
from services.api.formats.stack_profile import StackProfile, Value, Values
from storage.arrays import Int64
from storage.ingest.assembly import kinds_of
from storage.ingest.function_stacks import calls_of, facts_of
from storage.ingest.marker_frames import MARKERS, Kind
from storage.ingest.symbolized import ResolvedFrames
from storage.query.shapes.stack_table import Counts, StackTable
from storage.query.stacks.definitions import UNKNOWN, Definition
from storage.query.stacks.function_names import NO_FUNCTION, FunctionRow


def stack_profile(capture: capture_pb2.Capture, resolved: ResolvedFrames, *, title: str) -> StackProfile:
    """The samples of all segments as one profile; `title` describes it in one line.

    Processes are the label `process`. Segments of one event may differ in their period, so samples and units are
    counted apart.
    """
    segments = [segment for segment in capture.segments if segment.profiles]
    profiles = [profile for segment in segments for profile in segment.profiles]
    period = np.array([s.period for s in segments for _ in s.profiles] or [0], np.int64)
    groups = sorted({_process(capture, profile.group) for profile in profiles}) or [""]
    group = np.array([groups.index(_process(capture, p.group)) for p in profiles] or [0], np.int64)
    facts = facts_of(profiles)
    names = _functions(capture, resolved)
    calls = calls_of(capture.stacks, resolved, np.arange(1, len(names.rank), dtype=np.int32))
    depth, functions = calls.outermost_first(facts.stack)
    ends = np.cumsum(depth)
    rank = names.rank
    rows: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for start, end, profile, count in zip(
        (ends - depth).tolist(), ends.tolist(), facts.profile.tolist(), facts.count.tolist(), strict=True
    ):
        key = tuple(rank[functions[start:end]].tolist()), int(group[profile])
        sums = rows.setdefault(key, [0, 0])
        sums[0] += count
        sums[1] += count * int(period[profile])
    table = _table(rows, names, tuple((name,) for name in groups))
    first = segments[0] if segments else capture_pb2.Segment()
    event, unit = capture.strings[first.event] or "cpu", capture.strings[first.unit] or "nanoseconds"
    return StackProfile(
        table=table,
        values=(
            Values(Value.SAMPLES, "samples", "count", table.samples, 0),
            Values(Value.OBSERVED, event, unit, table.units, 0),
        ),
        event=event,
        unit=unit,
        period=first.period if len({s.period for s in segments}) == 1 else 0,
        start_ns=capture.window.wall_start_ns,
        duration_ns=capture.window.duration_ns,
        comments=(title, *capture.notes),
        build_ids={},
    )


@dataclass(frozen=True, slots=True)
class _Functions:
    """All functions by name; `rank` is the place of each id among them, id 0 is the root."""

    rows: list[FunctionRow]
    definitions: list[Definition]
    rank: Int64


def _process(capture: capture_pb2.Capture, group: int) -> str:
    """The script or else the name of a process group's processes."""
    one = capture.groups[group]
    return capture.strings[one.script] or capture.strings[one.comm]


def _functions(capture: capture_pb2.Capture, resolved: ResolvedFrames) -> _Functions:
    """Functions of the frames and markers; equal ones, of several builds of one binary, are one."""
    named = (*resolved.functions, *MARKERS)
    kinds = [*map(Kind, kinds_of(capture, resolved).tolist()), *([Kind.MARKER] * len(MARKERS))]
    keys = [(each.name, each.binary_name, each.file, kind) for each, kind in zip(named, kinds, strict=True)]
    distinct = {key: place for place, key in enumerate(sorted(set(keys)), 1)}
    best = dict(zip(keys, named, strict=True))
    rows, definitions = [NO_FUNCTION], [UNKNOWN]
    for key, place in distinct.items():
        one = best[key]
        rows.append(FunctionRow(place, one.name, one.file, one.binary_name, one.status, key[3]))
        definitions.append(Definition("" if one.raw_name == one.name else one.raw_name, one.start_line))
    return _Functions(rows, definitions, np.array([0, *(distinct[key] for key in keys)], np.int64))


def _table(
    rows: dict[tuple[tuple[int, ...], int], list[int]], names: _Functions, groups: tuple[tuple[str], ...]
) -> StackTable:
    """The stacks as a prefix tree: in the order of names, a stack shares its outer frames with the one before."""
    parent, function, depth = [-1], [0], [0]
    ordered = sorted(rows)
    leaf: list[int] = []
    path, before = [0], tuple[int, ...]()
    for stack, _ in ordered:
        shared = next(
            (n for n, pair in enumerate(zip(stack, before, strict=False)) if pair[0] != pair[1]), -1
        )
        if shared < 0:
            shared = min(len(stack), len(before))
        del path[shared + 1 :]
        for place in range(shared, len(stack)):
            parent.append(path[-1])
            function.append(stack[place])
            depth.append(place + 1)
            path.append(len(parent) - 1)
        leaf.append(path[-1])
        before = stack
    sums = np.array([rows[key] for key in ordered], np.int64).reshape(-1, 2)
    return StackTable(
        parent=np.array(parent, np.int64),
        function=np.array(function, np.int64),
        depth=np.array(depth, np.int64),
        functions=tuple(names.rows),
        definitions=tuple(names.definitions),
        labels=("process",),
        groups=groups,
        leaf=np.array(leaf, np.int64),
        group=np.array([group for _, group in ordered], np.int64),
        samples=sums[:, 0],
        units=sums[:, 1],
        weight=sums[:, 1].astype(np.float64),
        remainder=Counts(0, 0, 0, 0.0),
    )
