"""Fingerprints of the inputs of buckets: the cells of closed days and their weights.

The weights of its days are part of a bucket. Coverage may change after the bucket is built, by a visit that fails late
or by an operator. So 64 bits over all inputs of the weights are stored with the bucket, and a query uses the bucket
only if its days still have the same fingerprint.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from storage.query.estimation.strata import Strata
from storage.rollup.cubes import HOURS_A_DAY, Source
from storage.rollup.read_cells import Exposure, read_exposure
from storage.rollup.time_cover import Bucket, State, days_of

_PARTS_A_SECOND = 1024.0
"""Sums of seconds differ in their last bits with the order in which PostgreSQL adds them. No decimal with fewer than
eleven digits lies halfway between two multiples of this resolution, where such a bit would change the rounding."""
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Multipliers of splitmix64, whose steps mix in a column."""


def of_days(strata: Strata, watched: Exposure, changes: Mapping[int, int]) -> dict[int, int]:
    """The fingerprint of each day since 1970 in any input: coverage, exposure, and how often its cells changed.

    `strata` and `watched` must have all of a day's rows, or none.
    """
    days = np.fromiter(changes.keys(), np.int64, len(changes))
    tables = (
        (strata.day, strata.stratum, strata.alike, strata.population, strata.covered_s, *strata.drawn.T),
        (watched.day, watched.stratum, watched.utilisation_class, watched.visits, watched.seconds),
        (days, np.fromiter(changes.values(), np.int64, len(changes))),
    )
    found: dict[int, int] = {}
    for number, table in enumerate(tables):
        every, place = np.unique(table[0], return_inverse=True)
        sums = np.zeros(len(every), np.uint64)
        np.add.at(sums, place, _mixed(number, table))
        for day, some in zip(every.tolist(), sums.tolist(), strict=True):
            found[day] = found.get(day, 0) + some
    return found


def of_bucket(days: Mapping[int, int], bucket: Bucket) -> int:
    """The fingerprint of a bucket of these days, as a signed 64-bit number."""
    total = sum(days.get(day, 0) for day in days_of(bucket))
    return (total + (1 << 63)) % (1 << 64) - (1 << 63)


def usable(
    connection: Connection, state: State, source: Source, strata: Strata, *, first: int, end: int
) -> frozenset[Bucket]:
    """The written buckets within the hours [first, end) whose days still have the cells and weights of their inputs.

    `strata` must cover all whole days of this range; without them no bucket is usable.
    """
    candidates = state.candidates(source, first, end)
    if not candidates:
        return frozenset()
    first_day, end_day = -(-first // HOURS_A_DAY), end // HOURS_A_DAY
    watched = read_exposure(connection, source, first_day * HOURS_A_DAY, end_day * HOURS_A_DAY)
    now = of_days(strata, watched, state.changes)
    return frozenset(of for of, made in candidates.items() if made == of_bucket(now, of))


def _mixed(number: int, columns: Iterable[npt.NDArray[Any]]) -> npt.NDArray[np.uint64]:
    """64 bits for each row; equal rows have equal bits."""
    mixed: npt.NDArray[np.uint64] = np.array([number], np.uint64)
    for column in columns:
        parts = np.rint(column * _PARTS_A_SECOND) if column.dtype.kind == "f" else column
        mixed = ((mixed + _STEP) ^ parts.astype(np.int64).view(np.uint64)) * _FIRST
        mixed = (mixed ^ (mixed >> np.uint64(30))) * _SECOND
        mixed ^= mixed >> np.uint64(27)
    return mixed
