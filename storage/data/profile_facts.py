"""Facts of visits with the names of their functions, each visit separately."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from uuid import UUID

import numpy as np
from sqlalchemy import Connection, func, select
from sqlalchemy.sql.elements import ColumnElement

from storage.arrays import Int64, sum_at
from storage.data.label_texts import LabelTexts
from storage.data.shown_stacks import ShownStacks, read_shown
from storage.data.stream_query import StreamSelection
from storage.errors import CorruptChunk
from storage.query.facts.decode_chunks import decode_chunks
from storage.query.selections import label_names
from storage.query.stacks.function_names import FunctionRow, Functions
from storage.schema import DIMENSIONS, capture_segment, chunk, profile
from storage.snapshots.copy_binary import Rows, among_uuids, read_rows

_MOST_BYTES = 512 << 20
"""Limit for the chunks or stacks of one page; a page of the usual size has some hundred kilobytes."""


@dataclass(frozen=True, slots=True)
class ProfileFacts:
    """The samples of one process group in one segment."""

    segment: int
    period: int
    labels: dict[str, str]
    stack: Int64
    """Indexes into the visit's stacks."""
    samples: Int64


@dataclass(frozen=True, slots=True)
class VisitFacts:
    """The facts of one event in one visit."""

    damage: str = ""
    """Why expected profiles are missing; '' if none are."""
    functions: tuple[FunctionRow, ...] = ()
    stack_functions: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """Indexes into `functions` of all stacks, one after the other, leaf first."""
    stack_length: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    profiles: tuple[ProfileFacts, ...] = ()


def conditions(connection: Connection, asked: StreamSelection) -> list[ColumnElement[bool]]:
    """The conditions on a profile, as currently valid ids."""
    return [
        profile.c.sample_type_id == asked.kind.id,
        profile.c.stacks == asked.stacks,
        *(label_names.condition(connection, matcher) for matcher in asked.selection.matchers),
    ]


def read_sizes(
    connection: Connection, ids: Sequence[UUID], days: Sequence[date], matching: Sequence[ColumnElement[bool]]
) -> dict[UUID, int]:
    """Number of facts by visit; visits without a matching profile are left out."""
    rows = connection.execute(
        select(profile.c.visit_id, func.sum(profile.c.facts))
        .where(profile.c.day.in_(days), among_uuids(profile.c.visit_id, _bytes(ids)), *matching)
        .group_by(profile.c.visit_id)
    )
    return {id_: int(facts) for id_, facts in rows}


def read_watched_seconds(
    connection: Connection, asked: StreamSelection, ids: Sequence[UUID]
) -> dict[UUID, float]:
    """Seconds for which each visit sampled the event at this depth; visits that did not are left out."""
    segment = capture_segment.c
    rows = connection.execute(
        select(segment.visit_id, func.sum(segment.seconds))
        .where(
            among_uuids(segment.visit_id, _bytes(ids)),
            segment.sample_type_id == asked.kind.id,
            segment.stacks == asked.stacks,
            segment.seconds > 0,
        )
        .group_by(segment.visit_id)
    )
    return {id_: float(seconds) for id_, seconds in rows}


class FactReader:
    """Reads facts; caches texts and names between the pages of one stream."""

    def __init__(self, functions: Functions) -> None:
        """`functions` may be shared with other streams."""
        self._functions = functions
        self._labels = LabelTexts()

    def read(
        self,
        connection: Connection,
        asked: StreamSelection,
        ids: Sequence[UUID],
        days: Sequence[date],
        matching: Sequence[ColumnElement[bool]],
    ) -> dict[UUID, VisitFacts]:
        """Facts by visit; visits without a matching profile or without a sample that passes are left out."""
        if not ids:
            return {}
        p = profile.c
        rows = read_rows(
            connection,
            select(
                p.visit_id, p.profile_id, p.segment, p.period, p.facts, p.label_set_id,
                *(p[name] for name in DIMENSIONS), chunk.c.data,
            )
            .join(chunk, (chunk.c.day == p.day) & (chunk.c.profile_id == p.profile_id))
            .where(p.day.in_(days), chunk.c.day.in_(days), among_uuids(p.visit_id, _bytes(ids)), *matching)
            .order_by(p.visit_id, p.segment, p.profile_id),
            limit=_MOST_BYTES,
        )  # fmt: skip
        if not len(rows):
            return {}
        values = np.stack([rows.ints(name) for name in DIMENSIONS], axis=1)
        sets = rows.ints("label_set_id")
        self._labels.load(connection, np.unique(values).tolist(), np.unique(sets).tolist())
        page = _Page(rows, values, sets)
        stacks = read_shown(connection, page.stack, self._functions, asked.selection)
        found: dict[UUID, VisitFacts] = {}
        for visit_id, first, end in page.visits():
            try:
                facts = self._visit(page, stacks, first, end)
            except CorruptChunk as error:
                facts = VisitFacts(damage=f"Its facts are damaged: {error}.")
            if facts.profiles or facts.damage:
                found[visit_id] = facts
        return found

    def _visit(self, page: "_Page", stacks: ShownStacks, first: int, end: int) -> VisitFacts:
        if page.damage[first:end].any():
            raise CorruptChunk("cannot read a chunk")
        low, high = int(page.bounds[first]), int(page.bounds[end])
        place = stacks.places(page.stack[low:high])
        keep = place >= 0
        used, local = np.unique(place[keep], return_inverse=True)
        flat, lengths = stacks.leaf_first(used)
        functions, of_stack = np.unique(flat, return_inverse=True)
        number = np.full(high - low, -1, np.int64)
        number[keep] = local
        profiles = []
        for row in range(first, end):
            some = slice(int(page.bounds[row]) - low, int(page.bounds[row + 1]) - low)
            here = keep[some]
            if here.any():
                stack, samples = _summed(number[some][here], page.samples[low:high][some][here])
                labels = self._labels.of(page.values[row].tolist(), int(page.sets[row]))
                segment, period = int(page.segment[row]), int(page.period[row])
                profiles.append(ProfileFacts(segment, period, labels, stack, samples))
        return VisitFacts(
            functions=tuple(self._functions.row(id_) for id_ in functions.tolist()),
            stack_functions=of_stack.astype(np.int64),
            stack_length=lengths,
            profiles=tuple(profiles),
        )


class _Page:
    """The profiles of a page, ordered by visit, and their facts."""

    def __init__(self, rows: Rows, values: Int64, sets: Int64) -> None:
        self.values, self.sets = values, sets
        self.segment, self.period = rows.ints("segment"), rows.ints("period")
        self._visits = rows.uuids("visit_id")
        counts = rows.ints("facts")
        self.damage = np.zeros(len(rows), np.bool_)
        try:
            self.stack, self.samples = decode_chunks([rows.blobs], counts)
        except CorruptChunk:
            self.stack, self.samples = self._one_by_one(rows, counts)
        self.bounds = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)

    def _one_by_one(self, rows: Rows, counts: Int64) -> tuple[Int64, Int64]:
        """Decode each chunk separately; an unreadable one yields zeros, and its rows are marked."""
        stacks, samples = [], []
        for row in range(len(rows)):
            one = slice(row, row + 1)
            try:
                stack, values = decode_chunks([rows.blobs.of(np.arange(row, row + 1))], counts[one])
            except CorruptChunk:
                self.damage[row] = True
                stack = values = np.zeros(int(counts[row]), np.int64)
            stacks.append(stack)
            samples.append(values)
        return np.concatenate(stacks), np.concatenate(samples)

    def visits(self) -> list[tuple[UUID, int, int]]:
        """Each visit and its range of rows [first, end)."""
        starts = np.flatnonzero(np.concatenate(([True], self._visits[1:] != self._visits[:-1])))
        ends = np.append(starts[1:], len(self._visits))
        ids = [UUID(bytes=id_.ljust(16, b"\0")) for id_ in self._visits[starts].tolist()]
        return list(zip(ids, starts.tolist(), ends.tolist(), strict=True))


def _summed(stack: Int64, samples: Int64) -> tuple[Int64, Int64]:
    """Merge equal stacks, which hidden frames can produce."""
    found, which = np.unique(stack, return_inverse=True)
    return (stack, samples) if len(found) == len(stack) else (found, sum_at(which, samples, len(found)))


def _bytes(ids: Sequence[UUID]) -> list[bytes]:
    return [id_.bytes for id_ in ids]
