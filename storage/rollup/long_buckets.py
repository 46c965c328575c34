"""Build the cells of a bucket of closed days: the cells of its days, or of smaller buckets, summed by key."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import Connection, func, select

from storage.arrays import Float, Int64
from storage.blobs.fact_blobs import encode_many
from storage.query.estimation.strata import read_strata
from storage.rollup import cell_rows, long_moments, long_moments_codec
from storage.rollup.cubes import DAY, EVENT, HOURS_A_DAY, Source, day_of
from storage.rollup.day_weights import (
    NO_FACTS,
    DayWeights,
    WeightedFacts,
    add_facts,
    day_parts,
    day_weights,
    ingested_behind,
)
from storage.rollup.long_moments import Parts, add_up
from storage.rollup.read_cells import Cells, WeightedCells, read_cells, read_exposure, read_weighted
from storage.rollup.time_cover import Bucket, Cover
from storage.schema import rollup, rollup_long
from storage.snapshots.copy_binary import among

PAIRS = 8_000_000
"""Pairs of cells merged at once, unless a single key has more; about 1 GB."""
_COUNTS = ("profiles", "visits", "samples", "total")


@dataclass(frozen=True, slots=True)
class Merged:
    """Cells of a bucket, one for each key."""

    keys: Int64
    counts: dict[str, Int64]
    weighted_total: Float
    facts: WeightedFacts
    parts: Parts
    rows_before: int
    """Rows by stack and by function in all inputs of the bucket."""

    @property
    def rows(self) -> int:
        """Rows by stack and by function in the bucket."""
        return len(self.facts.stack) + len(self.parts.function)


class Merging:
    """Sums the inputs of one source's bucket."""

    def __init__(
        self, connection: Connection, source: Source, days: Sequence[int], parts: Sequence[Bucket]
    ) -> None:
        """`parts` are day cells (level `DAY`) and buckets that cover the days. The campaign draws at random."""
        self._connection = connection
        self._source = source
        self._parts = parts
        self._weights = {day: _weights_of(connection, source, day) for day in days}
        # These follow from the design, so they are the same for all cells, also for those missing from a part.
        behind = map(ingested_behind, self._weights.values())
        self._ingested, self._df = (float(sum(column)) for column in zip(*behind, strict=True))

    def merged(self) -> Iterator[Merged]:
        """The cells of the bucket, as many keys at a time as `PAIRS` allows. Raises `CorruptCell`."""
        for keys in _key_groups(self._sizes()):
            yield self._merged(keys)

    def _sizes(self) -> dict[tuple[int, int], int]:
        """Pairs of all cells by key."""
        sizes: dict[tuple[int, int], int] = {}
        for level in sorted({level for level, _ in self._parts}):
            c = (rollup if level == DAY else rollup_long).c
            statement = select(c.k1, c.k2, func.sum(c.facts)).where(
                c.cube == self._source.cube.id,
                c.campaign_id == self._source.campaign_id,
                c.stacks == self._source.stacks,
                c.sample_type_id == self._source.sample_type_id,
                c.level == level,
                among(c.bucket, [bucket for of, bucket in self._parts if of == level]),
            )
            for k1, k2, facts in self._connection.execute(statement.group_by(c.k1, c.k2)).all():
                sizes[k1, k2] = sizes.get((k1, k2), 0) + int(facts)
        return sizes

    def _merged(self, keys: Int64) -> Merged:
        """The cells of these keys. Inputs are read one part at a time, so memory holds the result and one part."""
        sums = _Sums(keys)
        k1 = sorted(set(keys[:, 0].tolist()))
        for level, bucket in self._parts:
            if level == DAY:
                sums.add_day(self._day(bucket, k1), self._weights[bucket], self._event(bucket))
            else:
                of = Cover(weighted=((level, bucket),))
                sums.add_bucket(read_weighted(self._connection, self._source, of, k1=k1))
        return sums.merged(self._ingested, self._df)

    def _day(self, day: int, k1: Sequence[int]) -> Cells:
        return read_cells(self._connection, self._source, Cover(days=(day,)), k1=k1)

    def _event(self, day: int) -> Cells:
        """The cells of the whole event, for covariances."""
        event = replace(self._source, cube=EVENT)
        return read_cells(self._connection, event, Cover(days=(day,)), facts=False, moments=False)


class _Sums:
    """Sums cells by key."""

    def __init__(self, keys: Int64) -> None:
        self._keys = keys
        self._sorted = (keys[:, 0] << 32) | keys[:, 1]
        self._counts = {name: np.zeros(len(keys), np.int64) for name in _COUNTS}
        self._weighted_total = np.zeros(len(keys))
        self._facts = NO_FACTS
        self._parts: list[Parts] = []
        self._rows = 0

    def add_day(self, cells: Cells, weights: DayWeights, event: Cells) -> None:
        weight, _ = weights.of(cells)
        self._add(cells, weight * cells.total, weight[cells.cell] * cells.units)
        parts = day_parts(cells, self._places(cells), len(self._keys), weights, event)
        self._rows += len(cells.moments.function) if cells.moments is not None else 0
        self._parts.append(add_up(parts, np.arange(len(self._keys)), len(self._keys)))

    def add_bucket(self, cells: WeightedCells) -> None:
        self._add(cells, cells.weighted_total, cells.weighted)
        if cells.moments is not None:
            self._rows += len(cells.moments.function)
            self._parts.append(add_up(cells.moments, self._places(cells), len(self._keys)))

    def _add(self, cells: Cells | WeightedCells, weighted_total: Float, weighted_units: Float) -> None:
        into = self._places(cells)
        for name, column in self._counts.items():
            np.add.at(column, into, getattr(cells, name))
        np.add.at(self._weighted_total, into, weighted_total)
        self._rows += len(cells.stack)
        self._facts = add_facts(
            self._facts, WeightedFacts(into[cells.cell], cells.stack, cells.units, weighted_units)
        )

    def _places(self, cells: Cells | WeightedCells) -> Int64:
        """The key of each cell."""
        return np.searchsorted(self._sorted, (cells.k1 << 32) | cells.k2)

    def merged(self, ingested: float, df: float) -> Merged:
        n = len(self._keys)
        parts = add_up(long_moments.concatenated(self._parts), np.tile(np.arange(n), len(self._parts)), n)
        parts = replace(parts, ingested=np.full(n, ingested), df=np.full(n, df))
        return Merged(self._keys, self._counts, self._weighted_total, self._facts, parts, self._rows)


def write(connection: Connection, source: Source, bucket: Bucket, merged: Merged) -> None:
    """Insert cells of a bucket that do not exist."""
    n = len(merged.keys)
    count = np.bincount(merged.facts.cell, minlength=n).astype(np.int64)
    key: Mapping[str, int] = {
        "cube": source.cube.id,
        "campaign_id": source.campaign_id,
        "stacks": source.stacks,
        "sample_type_id": source.sample_type_id,
        "level": bucket[0],
        "bucket": bucket[1],
    }
    columns: dict[str, Any] = {name: np.full(n, value) for name, value in key.items()}
    columns |= {"k1": merged.keys[:, 0], "k2": merged.keys[:, 1], "facts": count, **merged.counts}
    columns["weighted_total"] = merged.weighted_total
    blobs: dict[str, list[bytes]] = {
        "data": encode_many(merged.facts.stack, merged.facts.units, count),
        "weighted": long_moments_codec.encode_doubles(merged.facts.weighted, count),
        "moments": long_moments_codec.encode(merged.parts),
    }
    cell_rows.write(connection, rollup_long, columns, blobs)


def _key_groups(sizes: dict[tuple[int, int], int]) -> Iterator[Int64]:
    """Keys (k1, k2) in groups that are merged together: (n, 2) each, all k2 of a k1 in one group."""
    group: list[tuple[int, int]] = []
    total = 0
    for key in sorted(sizes):
        if group and total + sizes[key] > PAIRS and key[0] != group[-1][0]:
            yield np.array(group, np.int64)
            group, total = [], 0
        group.append(key)
        total += sizes[key]
    if group:
        yield np.array(group, np.int64)


def _weights_of(connection: Connection, source: Source, day: int) -> DayWeights:
    start = datetime.combine(day_of(day), datetime.min.time(), UTC)
    strata = read_strata(connection, source.campaign_id, start, start + timedelta(days=1))
    if strata is None:
        raise TypeError("only days of campaigns with random visits are closed")
    first = day * HOURS_A_DAY
    return day_weights(strata, read_exposure(connection, source, first, first + HOURS_A_DAY))
