"""What merged cells must hold by the facts, the queue and what waits to be taken out, and how they differ.

    cells of a day = its visits − those waiting with +1 + what waits to be taken out with −1

Computed by loops, visit by visit; the facts themselves are `truth`'s concern.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, select

from storage.blobs.fact_blobs import decode_many
from storage.rollup import rollup_days as states
from storage.rollup import unpacked_moments
from storage.rollup.cubes import CUBES, DAY, HOUR, WEIGHTED_LEVELS, day_number
from storage.schema import (
    capture_segment,
    chunk,
    exposure,
    profile,
    rollup,
    rollup_long,
    rollup_queue,
    rollup_retraction,
)
from tests.dictionary_stacks import functions_by_stack
from tests.integration.exactly_once.world import Visit, World
from tests.usable_buckets import usable_buckets

Key = tuple[int, int, bool, int, int, int, int, int, int, int]
"""The primary key of `rollup`."""
Part = tuple[UUID, int]
"""A visit in the cells: as it is (0), or as an entry says that it was."""
TOLERANCE = 1e-9
"""Of sums of squares, which are doubles."""


@dataclass
class FunctionSums:
    """Of one function in one cell."""

    visits: int = 0
    own: int = 0
    total: int = 0
    own2: int = 0
    total2: int = 0
    own_x: int = 0
    total_x: int = 0


@dataclass
class Cell:
    """What one cell holds."""

    profiles: int = 0
    visits: int = 0
    samples: int = 0
    total: int = 0
    stacks: Counter[int] = field(default_factory=Counter)
    x2: int = 0
    functions: dict[int, FunctionSums] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Piece:
    """One profile of a visit that is in the cells."""

    visit: Visit
    part: Part
    row: Row[Any]
    facts: tuple[tuple[int, int], ...]
    """(stack, samples)"""


def wrong_cells(connection: Connection, world: World, days: set[date]) -> list[str]:
    """How the cells and exposures of these days differ from what they must be; their facts are there."""
    merged = _merged(connection, world, days)
    frames = functions_by_stack(connection)
    numbers = {day_number(day) for day in days}
    expected = _expected(merged, frames, states.with_daily_rollup(connection, numbers))
    wrong = list(_different(_stored(connection, numbers), expected))
    wrong += _exposures(connection, world, days, merged)
    return wrong + list(_buckets(connection))


def _merged(connection: Connection, world: World, days: set[date]) -> dict[Part, list[Piece]]:
    """Every visit that is in the cells, with the profiles it is there with."""
    queue = connection.execute(
        select(rollup_queue.c.entry_id, rollup_queue.c.visit_id, rollup_queue.c.sign, rollup_queue.c.day)
    ).all()
    waiting = {row.visit_id for row in queue if row.sign == 1}
    watched = connection.scalars(
        select(capture_segment.c.visit_id).where(capture_segment.c.sample_type_id.is_not(None)).distinct()
    )
    merged: dict[Part, list[Piece]] = {
        (visit_id, 0): []
        for visit_id in watched
        if visit_id not in waiting and world.visits[visit_id].day in days
    }
    merged |= {(row.visit_id, row.entry_id): [] for row in queue if row.sign == -1 and row.day in days}
    now = select(profile, chunk.c.data).join(
        chunk, (chunk.c.day == profile.c.day) & (chunk.c.profile_id == profile.c.profile_id)
    )
    before = select(rollup_retraction, rollup_queue.c.visit_id).join(
        rollup_queue, rollup_queue.c.entry_id == rollup_retraction.c.entry_id
    )
    for statement, replaced in ((now, False), (before, True)):
        rows = connection.execute(statement).all()
        ids, values = decode_many([bytes(row.data) for row in rows], [row.facts for row in rows])
        pairs = list(zip(ids.tolist(), values.tolist(), strict=True))
        at = 0
        for row in rows:
            part = (row.visit_id, row.entry_id if replaced else 0)
            if part in merged:
                facts = tuple(pairs[at : at + row.facts])
                merged[part].append(Piece(world.visits[row.visit_id], part, row, facts))
            at += row.facts
    return merged


def _expected(
    merged: Mapping[Part, list[Piece]], frames: Mapping[int, list[int]], with_daily_rollup: frozenset[int]
) -> dict[Key, Cell]:
    cells: dict[Key, Cell] = {}
    for pieces in merged.values():
        of_visit: dict[Key, list[Piece]] = {}
        for piece in pieces:
            for key in _keys(piece, with_daily_rollup):
                of_visit.setdefault(key, []).append(piece)
        for key, own in of_visit.items():
            cell = cells.setdefault(key, Cell())
            _add(cell, own)
            _add_moments(cell, own, frames)
    return cells


def _keys(piece: Piece, with_daily_rollup: frozenset[int]) -> Iterable[Key]:
    row, visit = piece.row, piece.visit
    hour = int(visit.drawn_at.timestamp() // 3600)
    for cube in CUBES:
        k1, k2 = ([getattr(row, name) for name in cube.keys] + [0, 0])[:2]
        for level, bucket in ((HOUR, hour), (DAY, hour // 24)):
            if level == HOUR or bucket in with_daily_rollup:
                yield (
                    cube.id, row.campaign_id, row.stacks, row.sample_type_id, visit.stratum_id,
                    visit.utilisation_class, level, bucket, k1, k2,
                )  # fmt: skip


def _add(cell: Cell, pieces: Iterable[Piece]) -> None:
    cell.visits += 1
    for piece in pieces:
        cell.profiles += 1
        cell.samples += piece.row.samples
        cell.total += piece.row.samples * piece.row.period
        for stack_id, samples in piece.facts:
            cell.stacks[stack_id] += samples * piece.row.period


def _add_moments(cell: Cell, pieces: Iterable[Piece], frames: Mapping[int, list[int]]) -> None:
    x = 0
    own: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for piece in pieces:
        for stack_id, samples in piece.facts:
            units = samples * piece.row.period
            x += units
            own[frames[stack_id][-1]] += units
            for function in set(frames[stack_id]):
                total[function] += units
    cell.x2 += x * x
    for function, units in total.items():
        sums = cell.functions.setdefault(function, FunctionSums())
        sums.visits += 1
        sums.own += own[function]
        sums.total += units
        sums.own2 += own[function] ** 2
        sums.total2 += units**2
        sums.own_x += own[function] * x
        sums.total_x += units * x


def _stored(connection: Connection, days: set[int] | None) -> dict[Key, Cell]:
    """The cells of hours and days (since 1970), or all there are."""
    rows = connection.execute(select(rollup)).all()
    if days is not None:
        rows = [row for row in rows if (row.bucket // 24 if row.level == HOUR else row.bucket) in days]
    ids, units = decode_many([bytes(row.data) for row in rows], [row.facts for row in rows])
    stacks, values = ids.tolist(), units.tolist()
    cells: dict[Key, Cell] = {}
    at = 0
    for row in rows:
        key: Key = (
            row.cube, row.campaign_id, row.stacks, row.sample_type_id, row.stratum_id, row.utilisation_class,
            row.level, row.bucket, row.k1, row.k2,
        )  # fmt: skip
        facts = zip(stacks[at : at + row.facts], values[at : at + row.facts], strict=True)
        cells[key] = Cell(row.profiles, row.visits, row.samples, row.total, Counter(dict(facts)))
        at += row.facts
        if row.moments is not None:
            _read_moments(cells[key], bytes(row.moments))
    return cells


def _read_moments(cell: Cell, blob: bytes) -> None:
    sums = unpacked_moments.decode([memoryview(blob)]).in_units()
    cell.x2 = int(sums.xx[0])
    columns = (
        sums.row_visits, sums.own, sums.total, sums.own2, sums.total2, sums.own_x, sums.total_x,
    )  # fmt: skip
    for i, function in enumerate(sums.function.tolist()):
        cell.functions[function] = FunctionSums(*(int(column[i]) for column in columns))


def _different(found: Mapping[Key, Cell], expected: Mapping[Key, Cell]) -> Iterable[str]:
    for key in found.keys() | expected.keys():
        mine, wanted = found.get(key), expected.get(key)
        if mine is None or wanted is None:
            yield f"cell {key} is {'missing' if mine is None else 'of nobody'}"
            continue
        for name in ("profiles", "visits", "samples", "total", "stacks"):
            if getattr(mine, name) != getattr(wanted, name):
                yield f"cell {key} has {name} {getattr(mine, name)}, {getattr(wanted, name)} expected"
        if not _close(mine.x2, wanted.x2):
            yield f"cell {key} has Σx² {mine.x2}, {wanted.x2} expected"
        if mine.functions.keys() != wanted.functions.keys():
            yield f"cell {key} has functions {mine.functions.keys() ^ wanted.functions.keys()} too many or too few"
            continue
        for function, sums in wanted.functions.items():
            values = vars(mine.functions[function]).items()
            if bad := [name for name, value in values if not _close(value, getattr(sums, name))]:
                yield f"cell {key} has {bad} of function {function} as {mine.functions[function]}, {sums} expected"


def _close(found: int, expected: int) -> bool:
    return abs(found - expected) <= TOLERANCE * abs(expected)


def _buckets(connection: Connection) -> Iterable[str]:
    """How weighted buckets that questions take differ from the days they were built of."""
    days: dict[tuple[Any, ...], Cell] = {}
    usable = {
        (of.cube.id, of.campaign_id, of.stacks, of.sample_type_id, *bucket)
        for of, bucket in usable_buckets(connection)
    }
    for key, cell in _stored(connection, None).items():
        *source, _, _, level, bucket, k1, k2 = key
        for weighted in WEIGHTED_LEVELS if level == DAY else ():
            place = (*source, weighted, bucket // 4**weighted)
            if place in usable:
                into = days.setdefault((*place, k1, k2), Cell())
                for name in ("profiles", "visits", "samples", "total"):
                    setattr(into, name, getattr(into, name) + getattr(cell, name))
                into.stacks.update(cell.stacks)
    rows = [
        row
        for row in connection.execute(select(rollup_long))
        if (row.cube, row.campaign_id, row.stacks, row.sample_type_id, row.level, row.bucket) in usable
    ]
    ids, units = decode_many([bytes(row.data) for row in rows], [row.facts for row in rows])
    pairs = list(zip(ids.tolist(), units.tolist(), strict=True))
    at = 0
    for row in rows:
        place = (
            row.cube, row.campaign_id, row.stacks, row.sample_type_id, row.level, row.bucket, row.k1, row.k2,
        )  # fmt: skip
        held = Counter(dict(pairs[at : at + row.facts]))
        at += row.facts
        expected = days.pop(place, Cell())
        if Cell(row.profiles, row.visits, row.samples, row.total, held) != Cell(
            expected.profiles, expected.visits, expected.samples, expected.total, expected.stacks
        ):
            yield f"bucket {place} has {row.samples} samples in {row.profiles} profiles, {expected} expected"
    yield from (f"bucket {place} is missing" for place in days)


def _exposures(
    connection: Connection, world: World, days: set[date], merged: Mapping[Part, list[Piece]]
) -> Iterable[str]:
    seconds: dict[UUID, Counter[tuple[int, bool]]] = {}
    for row in connection.execute(
        select(capture_segment).where(capture_segment.c.sample_type_id.is_not(None))
    ):
        seconds.setdefault(row.visit_id, Counter())[row.sample_type_id, row.stacks] += row.seconds
    expected: dict[tuple[Any, ...], tuple[int, float]] = {}
    for visit_id, _ in merged:
        visit = world.visits[visit_id]
        for (sample_type, stacks), watched in seconds.get(visit_id, {}).items():
            hour = int(visit.drawn_at.timestamp() // 3600)
            key = (visit.campaign_id, sample_type, stacks, visit.stratum_id, hour, visit.utilisation_class)
            visits, sum_ = expected.get(key, (0, 0.0))
            expected[key] = visits + 1, sum_ + watched
    found = {
        (row.campaign_id, row.sample_type_id, row.stacks, row.stratum_id, row.hour, row.utilisation_class): (
            row.visits,
            row.seconds,
        )
        for row in connection.execute(select(exposure).where(exposure.c.day.in_(days)))
    }
    if found != expected:
        keys = [key for key in found.keys() | expected.keys() if found.get(key) != expected.get(key)]
        yield f"exposure {[(key, found.get(key), expected.get(key)) for key in keys[:3]]} (key, found, expected)"
