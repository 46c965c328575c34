"""Read and cache the facts of one application's profiles.

A stored profile never changes: reprocessing a visit writes new profiles. So a profile that is in a query's snapshot,
written by the same transaction as a cached one, has the cached facts.
"""

import itertools
from dataclasses import dataclass
from datetime import date

import numpy as np
from sqlalchemy import ARRAY, BigInteger, Column, Connection, Date, bindparam, cast, func, select

from storage.arrays import Bool, Int32, Int64, Narrow, group_starts, narrow, ranges
from storage.errors import CorruptChunk
from storage.query.facts.decode_chunks import FACT_BYTES, decode_chunks
from storage.schema import chunk
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import read_rows
from storage.snapshots.decoded_cache import DecodedCache


@dataclass(frozen=True, slots=True)
class ChunkKey:
    """Identifies the chunks of one application on one day since 1970 UTC."""

    day: int
    application: int
    sample_type_id: int


@dataclass(frozen=True, slots=True)
class Decoded:
    """The facts of some profiles, one profile after the other."""

    profile: Int64
    """Ids, ascending."""
    version: Int64
    """The transaction that wrote each profile."""
    stored: Int64
    """Bytes of each profile's chunk."""
    first: Int64
    """Start of each profile's facts, and the end of the last one's."""
    stack: Int32
    samples: Narrow

    def has(self, profile: Int64, version: Int64) -> Bool:
        """Which of these profiles are cached with this version."""
        if not len(self.profile):
            return np.zeros(len(profile), np.bool_)
        place = np.minimum(np.searchsorted(self.profile, profile), len(self.profile) - 1)
        found: Bool = (self.profile[place] == profile) & (self.version[place] == version)
        return found

    def facts(self, profile: Int64) -> tuple[Int64, Int64]:
        """Stacks and samples of cached profiles, in the given order."""
        if np.array_equal(profile, self.profile):  # usually a whole day
            return self.stack.astype(np.int64), self.samples.astype(np.int64)
        place = np.searchsorted(self.profile, profile)
        at = ranges(self.first[place], self.first[place + 1])
        return self.stack[at].astype(np.int64), self.samples[at].astype(np.int64)

    def bytes_of(self, profile: Int64) -> int:
        """Bytes of the chunks of those of these profiles that are cached."""
        return int(self.stored[np.isin(self.profile, profile)].sum())

    def joined(self, newer: "Decoded") -> "Decoded":
        """Add other profiles; if both have one, the newer is used."""
        keep = np.flatnonzero(~np.isin(self.profile, newer.profile))
        profile = np.concatenate((self.profile[keep], newer.profile))
        order = np.argsort(profile)
        starts = np.concatenate((self.first[keep], newer.first[:-1] + len(self.stack)))[order]
        ends = np.concatenate((self.first[keep + 1], newer.first[1:] + len(self.stack)))[order]
        at = ranges(starts, ends)
        return Decoded(
            profile[order],
            np.concatenate((self.version[keep], newer.version))[order],
            np.concatenate((self.stored[keep], newer.stored))[order],
            np.concatenate(([0], np.cumsum(ends - starts))),
            np.concatenate((self.stack, newer.stack))[at],
            np.concatenate((self.samples, newer.samples))[at],
        )


NOTHING = Decoded(
    *(np.zeros(0, np.int64),) * 3, np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint16)
)


def decoded(  # noqa: PLR0917 - its columns
    profile: Int64, version: Int64, stored: Int64, counts: Int64, stack: Int64, samples: Int64
) -> Decoded:
    """The facts of these profiles, which ascend; `counts` are the facts of each."""
    first = np.concatenate(([0], np.cumsum(counts)))
    return Decoded(profile, version, stored, first, stack.astype(np.int32), narrow(samples))


EPOCH = date(1970, 1, 1)
_WANTED = (
    func.unnest(
        cast(bindparam("days", type_=ARRAY(Date)), ARRAY(Date)),
        cast(bindparam("profiles", type_=ARRAY(BigInteger)), ARRAY(BigInteger)),
    )
    .table_valued(Column("day", Date), Column("profile_id", BigInteger), name="wanted", joins_implicitly=True)
    .render_derived()
)
# Both columns of the key, or PostgreSQL before 18 reads a whole day's chunks for one profile of it. The days exclude
# partitions when the statement is planned.
_CHUNKS = select(chunk.c.profile_id, chunk.c.data).where(
    chunk.c.day >= bindparam("first_day"),
    chunk.c.day <= bindparam("last_day"),
    chunk.c.day == _WANTED.c.day,
    chunk.c.profile_id == _WANTED.c.profile_id,
)


@dataclass(frozen=True, slots=True)
class Written:
    """Columns over profiles by day and then by id, both ascending; ids are unique."""

    profile: Int64
    """Ids."""
    day: Int64
    """Days since 1970 UTC."""
    version: Int64
    """The transaction that wrote each profile."""
    facts: Int64
    """Facts of each profile."""

    def of(self, some: Int64 | slice) -> "Written":
        """Some of the profiles, in their order."""
        return Written(self.profile[some], self.day[some], self.version[some], self.facts[some])


def facts_of(
    connection: Connection,
    written: Written,
    *,
    application: int,
    sample_type_id: int,
    cache: DecodedCache,
    limit: int,
) -> tuple[Int64, Int64]:
    """Stacks and samples of the profiles, all of this application and sample type, one profile after the other.

    Raises `CorruptChunk`, and `TooMuch` beyond `limit` bytes.
    """
    bounds = [*group_starts(written.day).tolist(), len(written.day)]
    missing = np.zeros(len(written.profile), np.bool_)
    days: list[tuple[slice, ChunkKey, Decoded]] = []
    for low, high in itertools.pairwise(bounds):
        here, key = slice(low, high), ChunkKey(int(written.day[low]), application, sample_type_id)
        found = cache.get(Decoded, key) or NOTHING
        there = found.has(written.profile[here], written.version[here])
        missing[here] = ~there
        query_budget.take(found.bytes_of(written.profile[here][there]))
        days.append((here, key, found))
    query_budget.take(FACT_BYTES * int(written.facts[~missing].sum()))
    read = _Read.of(connection, written.of(np.flatnonzero(missing)), limit)
    stacks, samples = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for here, key, found in days:
        if missing[here].any():
            found = found.joined(read.of_day(key.day))  # noqa: PLW2901 - what there is now
            cache.put(key, found)
        for column, more in zip((stacks, samples), found.facts(written.profile[here]), strict=True):
            column.append(more)
    return np.concatenate(stacks), np.concatenate(samples)


@dataclass(frozen=True, slots=True)
class _Read:
    """Profiles whose chunks were read for this query."""

    written: Written
    first: Int64
    """Start of each profile's facts."""
    stored: Int64
    """Bytes of each profile's chunk."""
    stack: Int64
    samples: Int64

    @classmethod
    def of(cls, connection: Connection, written: Written, limit: int) -> "_Read":
        nothing = np.zeros(0, np.int64)
        if not len(written.profile):
            return cls(written, nothing, nothing, nothing, nothing)
        days = [date.fromordinal(EPOCH.toordinal() + day) for day in written.day.tolist()]
        given = {
            "first_day": days[0],
            "last_day": days[-1],
            "days": days,
            "profiles": written.profile.tolist(),
        }
        rows = read_rows(connection, _CHUNKS, given, limit=limit)
        by_id, found = np.argsort(written.profile), rows.ints("profile_id")
        order = np.argsort(found)
        if not np.array_equal(found[order], written.profile[by_id]):
            raise CorruptChunk(f"{len(written.profile)} profiles have {len(found)} chunks")
        counts = written.facts[by_id]
        stack, samples = decode_chunks([rows.blobs.of(order)], counts)
        begins = np.empty(len(by_id), np.int64)
        begins[by_id] = np.cumsum(counts) - counts
        stored = np.empty(len(by_id), np.int64)
        stored[by_id] = rows.blobs.lengths[order]
        return cls(written, begins, stored, stack, samples)

    def of_day(self, day: int) -> Decoded:
        """The facts of a day."""
        low, high = np.searchsorted(self.written.day, (day, day + 1)).tolist()
        some = self.written.of(slice(low, high))
        at = ranges(self.first[low:high], self.first[low:high] + some.facts)
        stored = self.stored[low:high]
        return decoded(some.profile, some.version, stored, some.facts, self.stack[at], self.samples[at])
