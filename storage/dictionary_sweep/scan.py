"""Marks the dictionary ids in use: reads every table with ids once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, Table, func, select

from storage import partitions, stack_blocks
from storage.blobs.fact_blobs import decode_lines, decode_many
from storage.dictionary_sweep.marks import Int64s, Marks
from storage.dictionary_sweep.stream import Batch, stream
from storage.errors import CorruptCell, CorruptChunk
from storage.rollup import long_moments_codec, unpacked_moments
from storage.schema import (
    DIMENSIONS,
    capture_counter,
    chunk,
    function,
    line_chunk,
    profile,
    rollup,
    rollup_long,
    rollup_retraction,
    stack_block,
)

Blobs = list[bytes]


@dataclass(slots=True)
class Scanned:
    """Amounts read."""

    facts: int = 0
    lines: int = 0
    rows: int = 0
    corrupt: int = 0
    """Blobs that do not decode; their ids are unknown and do not count."""


class Scan:
    """Marks ids in the snapshot of its connection. `between` is called after every batch."""

    def __init__(self, connection: Connection, marks: Marks, between: Callable[[], None]) -> None:
        self._connection = connection
        self._marks = marks
        self._between = between
        self.done = Scanned()

    def facts(self) -> None:
        """Mark everything except the functions in stacks."""
        for day in partitions.existing(self._connection):
            mine = (
                (profile.c.day == day) & (chunk.c.day == day) & (chunk.c.profile_id == profile.c.profile_id)
            )
            self._stacks(select(profile.c.facts, chunk.c.data).where(mine))
            self._lines(select(line_chunk.c.facts, line_chunk.c.data).where(line_chunk.c.day == day))
            self._labels(profile, profile.c.day == day)
        self._stacks(select(rollup_retraction.c.facts, rollup_retraction.c.data))
        self._labels(rollup_retraction)
        for table, decode in ((rollup, _of_moments), (rollup_long, _of_weighted)):
            self._stacks(select(table.c.facts, table.c.data))
            self._moments(select(table.c.moments).where(table.c.moments.is_not(None)), decode)
            self._read(select(table.c.k1, table.c.k2), lambda batch: self._use("dim_value", batch, 0, 1))
        self._read(
            select(capture_counter.c.application).distinct(), lambda batch: self._use("dim_value", batch, 0)
        )

    def functions(self) -> None:
        """Mark the functions of all stacks and the targets of their aliases."""
        self._read(
            select(stack_block.c.stacks, stack_block.c.data),
            lambda batch: self._marks.use("function", self._decoded(_of_stacks, batch.blobs, batch.ints(0))),
        )
        named = select(func.coalesce(function.c.alias_of, 0)).where(function.c.alias_of.is_not(None))
        self._read(named, lambda batch: self._use("function", batch, 0))

    def _read(self, statement: Select[Any], consume: Callable[[Batch], None]) -> None:
        def batch_by_batch(batch: Batch) -> None:
            consume(batch)
            self.done.rows += len(batch)
            self._between()

        stream(self._connection, statement, batch_by_batch)

    def _use(self, dictionary: str, batch: Batch, *columns: int) -> None:
        for column in columns:
            self._marks.use(dictionary, batch.ints(column))

    def _labels(self, table: Table, *where: Any) -> None:
        columns = [table.c[name] for name in (*DIMENSIONS, "label_set_id")]

        def mark(batch: Batch) -> None:
            self._use("dim_value", batch, *range(len(DIMENSIONS)))
            self._use("label_set", batch, len(DIMENSIONS))

        self._read(select(*columns).where(*where), mark)

    def _stacks(self, statement: Select[Any]) -> None:
        def mark(batch: Batch) -> None:
            ids = self._decoded(lambda blobs, n: decode_many(blobs, n)[0], batch.blobs, batch.ints(0))
            self._marks.use("stack", ids)
            self.done.facts += len(ids)

        self._read(statement, mark)

    def _lines(self, statement: Select[Any]) -> None:
        def mark(batch: Batch) -> None:
            ids = self._decoded(lambda blobs, n: decode_lines(blobs, n).function, batch.blobs, batch.ints(0))
            self._marks.use("function", ids)
            self.done.lines += len(ids)

        self._read(statement, mark)

    def _moments(self, statement: Select[Any], decode: Callable[[Blobs, Int64s], Any]) -> None:
        def mark(batch: Batch) -> None:
            none = np.zeros(len(batch), np.int64)
            self._marks.use("function", self._decoded(decode, batch.blobs, none))

        self._read(statement, mark)

    def _decoded(self, decode: Callable[[Blobs, Int64s], Any], blobs: Blobs, counts: Int64s) -> Int64s:
        try:
            ids = decode(blobs, counts)
        except (CorruptChunk, CorruptCell):
            if len(blobs) == 1:
                self.done.corrupt += 1
                return np.empty(0, np.int64)
            half = len(blobs) // 2
            return np.concatenate(
                (
                    self._decoded(decode, blobs[:half], counts[:half]),
                    self._decoded(decode, blobs[half:], counts[half:]),
                )
            )
        result: Int64s = np.asarray(ids, np.int64)
        return result


def _of_stacks(blobs: Blobs, stacks: Int64s) -> Int64s:
    _, function, _ = stack_blocks.decode(np.zeros(len(blobs), np.int64), stacks, blobs)
    return function.astype(np.int64)


def _of_moments(blobs: Blobs, _: Int64s) -> Int64s:
    return unpacked_moments.decode(blobs).function


def _of_weighted(blobs: Blobs, _: Int64s) -> Int64s:
    return long_moments_codec.decode(blobs).function
