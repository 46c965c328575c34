"""Exports the dictionary rows that a day's facts refer to, and no others."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlalchemy import Column, Connection, select

from storage.errors import CorruptChunk
from storage.schema import campaign, dim_value, function, label_set, machine, sample_type, stratum
from storage.segments.writer import TableWriter
from storage.snapshots.copy_binary import among
from storage.snapshots.stack_reading import read_stacks

Ints = npt.NDArray[np.integer]
Open = Callable[[str], TableWriter]
"""Opens the writer of a table; it is closed later."""

_STACKS_AT_ONCE = 200_000
_IDS_AT_ONCE = 20_000
_STACK_BYTES = 1 << 30


class Used:
    """A set of ids: one byte for each id up to the largest."""

    def __init__(self) -> None:
        self._marks = np.zeros(1024, np.bool_)

    def add(self, ids: Ints) -> None:
        """Add these ids, except 0 (none)."""
        top = int(ids.max(initial=0))
        if top >= len(self._marks):
            self._marks = np.concatenate((self._marks, np.zeros(max(top + 1, len(self._marks)), np.bool_)))
        self._marks[ids] = True
        self._marks[0] = False

    @property
    def ids(self) -> npt.NDArray[np.int64]:
        """The ids, ascending."""
        return np.flatnonzero(self._marks)

    def batches(self, size: int) -> Iterator[npt.NDArray[np.int64]]:
        """The ids, ascending, in batches."""
        ids = self.ids
        for first in range(0, len(ids), size):
            yield ids[first : first + size]


def write_stacks(connection: Connection, open_table: Open, used: Used) -> None:
    """Write the stacks and their functions. Raises `CorruptChunk` if one is missing, `LakeUnavailable`."""
    table, functions = open_table("stacks"), Used()
    for ids in used.batches(_STACKS_AT_ONCE):
        found, frames, lengths = read_stacks(connection, ids, limit=_STACK_BYTES)
        if len(found) < len(ids):
            raise CorruptChunk(f"{len(ids) - len(found)} stacks of the samples are not in the dictionary")
        # While a block is rewritten, its stacks may be in two blocks.
        order = np.argsort(found, kind="stable")
        ends = np.cumsum(lengths)
        starts = (ends - lengths)[order]
        offsets = np.concatenate(([0], np.cumsum(lengths[order])))
        place = np.repeat(starts - offsets[:-1], lengths[order]) + np.arange(int(offsets[-1]))
        ordered = frames[place]
        functions.add(ordered)
        leaf = ordered[offsets[1:] - 1] if len(ordered) else ordered
        lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(ordered, pa.int32()))
        table.add([pa.array(found[order], pa.int32()), pa.array(leaf, pa.int32()), lists])
    _write_functions(connection, open_table("functions"), functions)


def _write_functions(connection: Connection, table: TableWriter, used: Used) -> None:
    """Write the functions and the targets of their aliases."""
    c = function.c
    columns = (
        c.function_id, c.kind, c.name, c.raw_name, c.file, c.binary_name, c.start_line, c.status, c.binary_key,
        c.alias_of,
    )  # fmt: skip
    done = Used()
    while True:
        instead = Used()
        for ids in used.batches(_IDS_AT_ONCE):
            rows = connection.execute(select(*columns).where(among(c.function_id, ids.tolist()))).all()
            table.add(columns_of(rows, len(columns)))
            done.add(ids)
            instead.add(np.array([row.alias_of or 0 for row in rows], np.int64))
        missing = np.setdiff1d(instead.ids, done.ids)
        if not len(missing):
            return
        used = Used()
        used.add(missing)


def write_values(connection: Connection, table: TableWriter, used: Used) -> None:
    """Write the values of the ids in the label columns of profiles."""
    c = dim_value.c
    for ids in used.batches(_IDS_AT_ONCE):
        rows = connection.execute(
            select(c.value_id, c.dim, c.value).where(among(c.value_id, ids.tolist())).order_by(c.value_id)
        ).all()
        table.add(columns_of(rows, 3))


def write_label_sets(connection: Connection, table: TableWriter, used: Used) -> None:
    """Write the label sets, as JSON."""
    c = label_set.c
    for ids in used.batches(_IDS_AT_ONCE):
        rows = connection.execute(
            select(c.label_set_id, c.labels)
            .where(among(c.label_set_id, ids.tolist()))
            .order_by(c.label_set_id)
        )
        table.add(columns_of([(row.label_set_id, json.dumps(row.labels, sort_keys=True)) for row in rows], 2))


def write_machines(connection: Connection, table: TableWriter, used: Used) -> None:
    """Write the machine names."""
    c = machine.c
    for ids in used.batches(_IDS_AT_ONCE):
        rows = connection.execute(
            select(c.machine_id, c.name).where(among(c.machine_id, ids.tolist())).order_by(c.machine_id)
        ).all()
        table.add(columns_of(rows, 2))


def write_small(connection: Connection, open_table: Open) -> list[str]:
    """Write all strata, campaigns and sample types, which are small tables; return the table names."""
    tables: tuple[tuple[str, tuple[Column[Any], ...]], ...] = (
        ("strata", (stratum.c.stratum_id, stratum.c.datacenter, stratum.c.platform, stratum.c.thinning)),
        ("campaigns", (campaign.c.campaign_id, campaign.c.name)),
        (
            "sample_types",
            (sample_type.c.sample_type_id, sample_type.c.event, sample_type.c.unit, sample_type.c.kind),
        ),
    )
    for name, columns in tables:
        rows = connection.execute(select(*columns).order_by(columns[0])).all()
        open_table(name).add(columns_of(rows, len(columns)))
    return [name for name, _ in tables]


def columns_of(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Transpose rows into columns."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
