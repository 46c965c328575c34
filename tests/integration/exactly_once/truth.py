"""What a snapshot must hold, given which captures it says are ingested; and what is wrong with it.

The only thing believed is `capture.ingested`: everything else follows from the patterns the captures were
made of. A capture may have been ingested under either configuration of labels, with or without the
library's symbols, but whole under one and the same.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from itertools import product
from types import MappingProxyType
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Engine, Row, func, select, text

from storage import partitions
from storage.blobs.fact_blobs import decode_lines, decode_many
from storage.schema import (
    capture,
    capture_segment,
    chunk,
    dim_value,
    function,
    line_chunk,
    profile,
    rollup_queue,
    rollup_retraction,
)
from tests.dictionary_stacks import functions_by_stack
from tests.integration.exactly_once.cells import wrong_cells
from tests.integration.exactly_once.made import SEGMENT_S, Facts, Names, pattern, plain
from tests.integration.exactly_once.world import Visit, World

Dropped = Mapping[UUID, tuple[bool, bool]]
"""How each visit of a day was ingested when its facts were dropped: with better symbols, with other labels."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """A visit whose facts are in a snapshot, and what they are."""

    visit: Visit
    generation: int
    better: bool
    other_labels: bool
    facts: Facts
    """With every function called as it will be (`made.plain`)."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One snapshot."""

    ingested: Mapping[UUID, Ingested]
    dropped: Mapping[UUID, Ingested]
    """Those whose facts were dropped since: cells still hold them."""
    days: set[date]
    """Whose facts are kept."""
    wrong: tuple[str, ...]

    def of_day(self, day: date) -> Dropped:
        """What there is to remember of the day."""
        return {
            visit_id: (one.better, one.other_labels)
            for visit_id, one in self.ingested.items()
            if one.visit.day == day
        }


@contextmanager
def moment(engine: Engine) -> Iterator[tuple[Connection, str]]:
    """A snapshot, and its name by which other connections see the same one.

    The tables are locked first against being dropped: a partition that goes after the snapshot was
    taken is gone for it too, while the rows that speak of it are not.
    """
    with (
        engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection,
        connection.begin(),
    ):
        connection.execute(text("LOCK TABLE ONLY profile, ONLY chunk, ONLY line_chunk IN ACCESS SHARE MODE"))
        yield connection, connection.execute(text("SELECT pg_export_snapshot()")).scalar_one()


def check(
    connection: Connection, world: World, remembered: Mapping[date, Dropped] = MappingProxyType({})
) -> Checked:
    """Everything an ingestion wrote, read row by row, and the cells it was merged into.

    `remembered` is what days held whose facts may have been dropped.
    """
    wrong: list[str] = []
    days = set(partitions.existing(connection))
    captures = {
        row.visit_id: row
        for row in connection.execute(select(capture.c.visit_id, capture.c.ingested, capture.c.expired))
    }
    wrong += _misnamed(connection)
    found = _facts(connection, wrong)
    segments = _segments(connection)
    ingested: dict[UUID, Ingested] = {}
    for visit_id, visit in world.visits.items():
        row = captures.get(visit_id)
        here = row is not None and row.ingested > 0 and not row.expired and visit.day in days
        generations, facts = found.pop(visit_id, (set(), {}))
        seconds = segments.pop(visit_id, [])
        if row is None or not here:
            if facts:
                wrong.append(f"{visit_id} has facts and is not ingested")
            if seconds and visit.day in days:
                wrong.append(f"{visit_id} has segments and is not ingested")
            continue
        if generations - {row.ingested}:
            wrong.append(f"{visit_id} has facts of generations {generations}, {row.ingested} is ingested")
        made = pattern(visit.seed, better=False)
        wanted = [(n, s.event, SEGMENT_S, _samples(s.groups)) for n, s in enumerate(made.segments)]
        if seconds != wanted:
            wrong.append(f"{visit_id} has segments {seconds}, not {wanted}")
        for better, other_labels in product((False, True), repeat=2):
            expected = pattern(visit.seed, better).facts(other_labels=other_labels)
            if facts == expected:
                ingested[visit_id] = Ingested(visit, row.ingested, better, other_labels, expected)
                break
        else:
            wrong.append(f"{visit_id}: {_difference(facts, made.facts(other_labels=False))}")
    wrong += [f"facts of {visit_id}, which nobody drew" for visit_id in found]
    wrong += _pending(connection, ingested, days)
    wrong += wrong_cells(connection, world, days)
    dropped = {
        visit_id: Ingested(
            world.visits[visit_id],
            0,
            better,
            labels,
            pattern(world.visits[visit_id].seed, better).facts(other_labels=labels),
        )
        for day, visits in remembered.items()
        if day not in days
        for visit_id, (better, labels) in visits.items()
    }
    return Checked(ingested, dropped, days, tuple(wrong))


def _misnamed(connection: Connection) -> list[str]:
    named = function.alias("named")
    rows = connection.execute(
        select(function.c.name, named.c.name.label("is_now")).join(
            named, named.c.function_id == function.c.alias_of
        )
    )
    return [f"{row.name} is called {row.is_now}" for row in rows if plain(row.name) != row.is_now]


def _facts(connection: Connection, wrong: list[str]) -> dict[UUID, tuple[set[int], Facts]]:
    """Generations and facts by visit, and whatever contradicts itself."""
    application, version = dim_value.alias("application"), dim_value.alias("version")
    rows = connection.execute(
        select(
            profile.c.visit_id,
            profile.c.day,
            profile.c.generation,
            profile.c.segment,
            application.c.value.label("application"),
            version.c.value.label("version"),
            profile.c.facts,
            profile.c.samples,
            chunk.c.data,
        )
        .join(
            chunk, (chunk.c.day == profile.c.day) & (chunk.c.profile_id == profile.c.profile_id), isouter=True
        )
        .join(application, application.c.value_id == profile.c.application, isouter=True)
        .join(version, version.c.value_id == profile.c.version, isouter=True)
    ).all()
    wrong += [f"a profile of {row.visit_id} has no chunk" for row in rows if row.data is None]
    wrong += [f"a profile of {row.visit_id} has lost its labels" for row in rows if row.application is None]
    rows = [row for row in rows if row.data is not None]
    for table in (chunk, line_chunk):
        owner = (profile.c.day == table.c.day) & (profile.c.profile_id == table.c.profile_id)
        orphans = connection.execute(
            select(func.count()).select_from(table).where(~select(profile.c.day).where(owner).exists())
        ).scalar_one()
        if orphans:
            wrong.append(f"{orphans} rows of {table.name} without a profile")
    wrong += _wrong_lines(connection)
    return _decoded(rows, _stacks(connection), wrong)


def _wrong_lines(connection: Connection) -> Iterator[str]:
    """Lines take no more samples themselves than their profile has."""
    rows = connection.execute(
        select(profile.c.visit_id, profile.c.samples, line_chunk.c.facts, line_chunk.c.data).join(
            line_chunk,
            (line_chunk.c.day == profile.c.day) & (line_chunk.c.profile_id == profile.c.profile_id),
        )
    ).all()
    facts = [row.facts for row in rows]
    own = decode_lines([bytes(row.data) for row in rows], facts).self_samples.tolist()
    if len(own) != sum(facts):
        yield f"{len(own)} lines where {sum(facts)} are said to be"
    at = 0
    for row in rows:
        if sum(own[at : at + row.facts]) > row.samples:
            yield f"lines of {row.visit_id} are not its profile's"
        at += row.facts


def _decoded(
    rows: Sequence[Row[*tuple[Any, ...]]], stacks: Mapping[int, Names], wrong: list[str]
) -> dict[UUID, tuple[set[int], Facts]]:
    found: dict[UUID, tuple[set[int], Counter[tuple[int, str, str, Names]]]] = {}
    ids, values = decode_many([bytes(row.data) for row in rows], [row.facts for row in rows])
    stack_ids, samples = ids.tolist(), values.tolist()
    at = 0
    for row in rows:
        generations, facts = found.setdefault(row.visit_id, (set(), Counter()))
        generations.add(row.generation)
        for place in range(at, at + row.facts):
            names = stacks.get(stack_ids[place], ("a stack that is gone",))
            facts[row.segment, row.application, row.version, names] += samples[place]
        if sum(samples[at : at + row.facts]) != row.samples:
            wrong.append(f"a profile of {row.visit_id} does not say what its chunk holds")
        at += row.facts
    return dict(found)


def _stacks(connection: Connection) -> dict[int, Names]:
    """Every stack by what its functions are called."""
    rows = connection.execute(select(function.c.function_id, function.c.alias_of, function.c.name)).all()
    own = {row.function_id: row.name for row in rows}
    now = {
        row.function_id: plain(own.get(row.alias_of or row.function_id, "a function that is gone"))
        for row in rows
    }
    return {
        stack_id: tuple(now.get(id_, "a function that is gone") for id_ in functions)
        for stack_id, functions in functions_by_stack(connection).items()
    }


def _segments(connection: Connection) -> dict[UUID, list[tuple[int, str, float, int]]]:
    found: dict[UUID, list[tuple[int, str, float, int]]] = {}
    rows = connection.execute(
        select(
            capture_segment.c.visit_id,
            capture_segment.c.segment,
            capture_segment.c.event,
            capture_segment.c.seconds,
            capture_segment.c.samples,
        ).order_by(capture_segment.c.visit_id, capture_segment.c.segment)
    )
    for row in rows:
        found.setdefault(row.visit_id, []).append((row.segment, row.event, row.seconds, row.samples))
    return found


def _pending(connection: Connection, ingested: Mapping[UUID, Ingested], days: set[date]) -> list[str]:
    """Entries for the merging of cells that nothing stands behind."""
    rows = connection.execute(
        select(rollup_queue.c.visit_id, rollup_queue.c.day).where(rollup_queue.c.sign == 1)
    ).all()
    wrong = [
        f"{row.visit_id} is to be merged and is not ingested"
        for row in rows
        if row.day in days and row.visit_id not in ingested
    ]
    lost = connection.execute(
        select(func.count())
        .select_from(rollup_retraction)
        .where(rollup_retraction.c.entry_id.not_in(select(rollup_queue.c.entry_id)))
    ).scalar_one()
    if lost:
        wrong.append(f"{lost} replaced profiles that no entry will take out")
    return wrong


def _samples(groups: Mapping[int, Mapping[int, int]]) -> int:
    return sum(sum(counts.values()) for counts in groups.values())


def _difference(found: Facts, expected: Facts) -> str:
    if not found:
        return "is ingested and has no facts"
    missing = [fact for fact, samples in expected.items() if found.get(fact) != samples]
    too_many = [fact for fact in found if fact not in expected]
    totals = sum(found.values()), sum(expected.values())
    return f"{totals[0]} samples, {totals[1]} expected; {missing[:2]} differ, {too_many[:2]} are not its own"
