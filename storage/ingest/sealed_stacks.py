"""The sealed part of the hash table of stacks: sorted records of about a hundred stacks in one row.

A row of `stack` takes 92 bytes with its index entry. So only new stacks are inserted there. From time to time they move
to `stack_sealed` (`storage.dictionary_sweep.seal_stacks`), where a stack takes 15 bytes:

    data = records of 14 bytes, ascending: the first 80 bits of a stack's hash · its id, big-endian

A row has the hashes from its `low` up to, excluding, the `low` of the next row. Among 10⁹ stacks that are not crafted
two share 80 bits with probability 4·10⁻⁷; the later one would get the earlier one's id.
"""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import numpy.typing as npt

from storage.ingest.stack_hash import Hashes

Records = npt.NDArray[np.void]
"""Array of `RECORD`."""
RECORD = np.dtype([("high", ">u8"), ("low", ">u2"), ("stack_id", ">i4")])
RECORDS = 112
"""Records per row: five rows fill a page of 8 kB. With 54, lookups are no faster and take 4 % more bytes."""
_KEY = 10
"""Bytes of a hash in a record."""

FIND = f"""
    SELECT {{columns}}, ('x' || encode(substring(b.data FROM p.place + {_KEY} FOR 4), 'hex'))::bit(32)::int AS stack_id
    FROM {{asked}} a
    CROSS JOIN LATERAL (SELECT data FROM stack_sealed WHERE low <= a.hash ORDER BY low DESC LIMIT 1) b
    CROSS JOIN LATERAL (
        SELECT position(substring(uuid_send(a.hash) FOR {_KEY}) IN b.data) AS place OFFSET 0
    ) p
    WHERE p.place % {RECORD.itemsize} = 1
"""  # noqa: S608 - numbers
"""Query of columns from a table `asked` with a column `hash`, and the ids of those stacks that are sealed."""


def records_of(hashes: Hashes, ids: npt.NDArray[np.integer]) -> Records:
    """The records of stacks, in the given order."""
    records = np.empty(len(ids), RECORD)
    records["high"], records["low"], records["stack_id"] = hashes[:, 0], hashes[:, 1] >> np.uint64(48), ids
    return records


def merged(sealed: Records, fresh: Records) -> Records:
    """Merge both in ascending order; of records with equal keys the sealed one stays."""
    both = np.concatenate((sealed, fresh)).astype(RECORD)  # concatenate changes to native byte order
    both = both[np.lexsort((both["low"], both["high"]))]  # stable
    first = np.ones(len(both), np.bool_)
    first[1:] = (both["high"][1:] != both["high"][:-1]) | (both["low"][1:] != both["low"][:-1])
    return both[first]


def rows_of(records: Records) -> list[tuple[UUID, bytes]]:
    """Rows (low, data) of ascending records."""
    data, size = records.tobytes(), RECORD.itemsize * RECORDS
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return [(UUID(bytes=piece[:_KEY] + bytes(16 - _KEY)), piece) for piece in pieces]


def decode(rows: Sequence[bytes]) -> Records:
    """The records in the data of rows, one row after the other."""
    return np.frombuffer(b"".join(rows), RECORD)
