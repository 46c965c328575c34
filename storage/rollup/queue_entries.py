"""Read visits and their facts: those that queue entries name, or those that a day's cells should hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Connection,
    Select,
    Uuid,
    cast,
    column,
    delete,
    func,
    select,
    type_coerce,
)
from sqlalchemy.sql.elements import ColumnElement
from sqlalchemy.sql.selectable import TableValuedAlias
from sqlalchemy.types import TypeEngine

from storage.arrays import Int64
from storage.blobs.fact_blobs import decode_many
from storage.coverage import utilisation_class
from storage.rollup import cell_rows
from storage.rollup.batch import Batch, Profiles, Visits, Watched
from storage.rollup.cell_rows import Columns
from storage.schema import capture_segment, chunk, profile, rollup_queue, rollup_retraction, visit

MOST_FACTS = 5_000_000
"""Facts merged at once, unless a single visit has more: about 1 GB of memory."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A visit to be merged."""

    day: date
    visit_id: UUID
    sign: int
    """+1: add to the cells; -1: subtract."""
    replaced: int | None
    """The entry whose `rollup_retraction` rows are read; None: the visit's current profiles."""
    entry_id: int | None = None
    """Id in the queue; None: not a queue entry."""


def take(connection: Connection, limit: int, *, only: int | None = None) -> list[Entry]:
    """Delete up to `limit` of the oldest queue entries and return them; concurrent transactions skip their rows.

    Takes fewer if they have many facts (`portions`). `only` restricts this to one entry; the result is empty if that
    entry is gone or locked by another writer.
    """
    c = rollup_queue.c
    oldest = select(c.entry_id, c.day, c.visit_id, c.sign).order_by(c.entry_id).limit(limit)
    if only is not None:
        oldest = oldest.where(c.entry_id == only)
    found = connection.execute(oldest.with_for_update(skip_locked=True)).all()
    waiting = [
        Entry(row.day, row.visit_id, row.sign, row.entry_id if row.sign < 0 else None, row.entry_id)
        for row in found
    ]
    taken = next(portions(connection, waiting), [])
    connection.execute(delete(rollup_queue).where(c.entry_id.in_([entry.entry_id for entry in taken])))
    return taken


def portions(connection: Connection, entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Split entries, in order, into parts of at most `MOST_FACTS` facts; a larger entry is a part by itself."""
    part: list[Entry] = []
    total = 0
    for entry, facts in zip(entries, _facts(connection, entries), strict=True):
        if part and total + facts > MOST_FACTS:
            yield part
            part, total = [], 0
        part.append(entry)
        total += facts
    if part:
        yield part


def _facts(connection: Connection, entries: Sequence[Entry]) -> list[int]:
    """Facts of each entry."""
    of_visit: dict[UUID, int] = {}
    of_entry: dict[int, int] = {}
    if stored := [entry for entry in entries if entry.replaced is None]:
        p = profile.c
        ids, days = [entry.visit_id for entry in stored], {entry.day for entry in stored}
        sums = select(p.visit_id, func.sum(p.facts)).where(p.visit_id.in_(ids), p.day.in_(days))
        of_visit = {id_: int(n) for id_, n in connection.execute(sums.group_by(p.visit_id))}
    if replaced := [entry.replaced for entry in entries if entry.replaced is not None]:
        r = rollup_retraction.c
        before = select(r.entry_id, func.sum(r.facts)).where(r.entry_id.in_(replaced)).group_by(r.entry_id)
        of_entry = {id_: int(n) for id_, n in connection.execute(before)}
    return [
        of_visit.get(entry.visit_id, 0) if entry.replaced is None else of_entry.get(entry.replaced, 0)
        for entry in entries
    ]


def read_batch(connection: Connection, entries: Sequence[Entry]) -> Batch:
    """Read the visits of the entries with all their facts. Raises `CorruptChunk`."""
    parts = [*_stored(connection, entries), *_replaced(connection, entries)]
    columns = {
        name: np.concatenate([part[name] for part, _ in parts] or [_column([])])
        for name in (*_PROFILE, "visit")
    }
    stack, samples = decode_many([blob for _, blobs in parts for blob in blobs], columns["facts"])
    profiles = Profiles(
        visit=columns["visit"],
        stacks=columns["stacks"].astype(np.int64),
        sample_type=columns["sample_type_id"],
        application=columns["application"],
        samples=columns["samples"],
        period=columns["period"],
        facts=columns["facts"],
    )
    return Batch(
        _visits(connection, entries), profiles, stack.astype(np.int64), samples, _watched(connection, entries)
    )


def discard_replaced(connection: Connection, entries: Sequence[Entry]) -> None:
    """Delete the replaced profiles of entries that were merged or dropped."""
    ids = [entry.replaced for entry in entries if entry.replaced is not None]
    if ids:
        connection.execute(delete(rollup_retraction).where(rollup_retraction.c.entry_id.in_(ids)))


_PROFILE = ("sample_type_id", "stacks", "application", "facts", "samples", "period")


def _visits(connection: Connection, entries: Sequence[Entry]) -> Visits:
    """The entries' visits, in order."""
    c = visit.c
    columns = (c.visit_id, c.campaign_id, c.stratum_id, c.hour, c.machine_id, c.utilisation)
    ids = [entry.visit_id for entry in entries]
    found = {row.visit_id: row for row in connection.execute(select(*columns).where(c.visit_id.in_(ids)))}
    of = [found[id_] for id_ in ids]
    return Visits(
        sign=_column([entry.sign for entry in entries]),
        campaign=_column([row.campaign_id for row in of]),
        stratum=_column([row.stratum_id for row in of]),
        utilisation_class=_column([utilisation_class(row.utilisation) for row in of]),
        hour=_column([row.hour for row in of]),
        machine=_column([row.machine_id for row in of]),
    )


def _column(values: list[int]) -> Int64:
    return np.array(values, np.int64)


def _stored(connection: Connection, entries: Sequence[Entry]) -> list[tuple[Columns, list[memoryview]]]:
    """Current profiles of visits, one statement per day: it reads only that day's partition."""
    parts = []
    for day in sorted({entry.day for entry in entries if entry.replaced is None}):
        numbers = [n for n, entry in enumerate(entries) if entry.replaced is None and entry.day == day]
        wanted = _listed([str(entries[n].visit_id) for n in numbers], Uuid())
        statement = (
            select(
                _number(wanted),
                *(profile.c[name] for name in _PROFILE),
                chunk.c.data,
            )
            .select_from(wanted)
            .join(profile, profile.c.visit_id == wanted.c.id)
            .join(chunk, chunk.c.profile_id == profile.c.profile_id)
            .where(profile.c.day == day, chunk.c.day == day)
        )
        parts.append(_read(connection, statement, numbers))
    return parts


def _replaced(connection: Connection, entries: Sequence[Entry]) -> list[tuple[Columns, list[memoryview]]]:
    """Replaced profiles of the entries' visits."""
    numbers = [n for n, entry in enumerate(entries) if entry.replaced is not None]
    if not numbers:
        return []
    wanted = _listed([entries[n].replaced for n in numbers], BigInteger())
    statement = select(
        _number(wanted),
        *(rollup_retraction.c[name] for name in _PROFILE),
        rollup_retraction.c.data,
    )
    statement = statement.select_from(wanted).join(
        rollup_retraction, rollup_retraction.c.entry_id == wanted.c.id
    )
    return [_read(connection, statement, numbers)]


def _listed(ids: Sequence[object], kind: TypeEngine[Any]) -> TableValuedAlias:
    """A table (id, n) of the ids, numbered from 1."""
    return (
        func.unnest(cast(ids, ARRAY(kind)))
        .table_valued(column("id", kind), with_ordinality="n")
        .render_derived(name="wanted")
    )


def _number(wanted: TableValuedAlias) -> ColumnElement[int]:
    return type_coerce(wanted.c.n, BigInteger).label("n")  # WITH ORDINALITY's column has no type


def _read(
    connection: Connection,
    statement: Select[Any],
    numbers: list[int],
) -> tuple[Columns, list[memoryview]]:
    columns, (blobs,) = cell_rows.read(connection, statement)
    columns["visit"] = _column(numbers)[columns.pop("n") - 1]
    return columns, blobs


def _watched(connection: Connection, entries: Sequence[Entry]) -> Watched:
    c = capture_segment.c
    wanted = _listed([str(entry.visit_id) for entry in entries], Uuid())
    statement = (
        select(
            _number(wanted),
            c.stacks,
            c.sample_type_id,
            func.sum(c.seconds).label("seconds"),
        )
        .select_from(wanted)
        .join(capture_segment, c.visit_id == wanted.c.id)
        .where(c.sample_type_id.is_not(None), c.seconds > 0)
        .group_by(wanted.c.n, c.stacks, c.sample_type_id)
    )
    columns, _ = cell_rows.read(connection, statement)
    return Watched(
        columns["n"] - 1, columns["stacks"].astype(np.int64), columns["sample_type_id"], columns["seconds"]
    )
