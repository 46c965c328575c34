"""The settled part of the hash table of stacks: sorted records of a hundred stacks in one row.

A row of `stack` takes 92 bytes with its index entry. So that table is only where new stacks go; from time to time they
move into `stack_sealed` (`storage.dictionary_sweep.seal_stacks`), 15 bytes a stack:

    data = records of 14 bytes, ascending: the first 80 bits of a stack's hash · its id, big-endian

A row has the hashes from `low` on, below the `low` of the next one. Of 10⁹ stacks that nobody crafted two
share 80 bits with probability 4·10⁻⁷; the later one would be taken for the earlier.
"""

from collections.abc import Sequence
from uuid import UUID

import numpy as np
import numpy.typing as npt

from storage.ingest.stack_hash import Hashes

Records = npt.NDArray[np.void]
"""Of `RECORD`."""
RECORD = np.dtype([("high", ">u8"), ("low", ">u2"), ("stack_id", ">i4")])
RECORDS = 112
"""In a row: five rows fill a page of 8 kB. Of 54, lookups are no faster and take 4 % more bytes."""
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
"""Columns of the rows of a table `asked` with a column `hash`, and the ids of those that are sealed."""


def records_of(hashes: Hashes, ids: npt.NDArray[np.integer]) -> Records:
    """The records of stacks, in their order."""
    records = np.empty(len(ids), RECORD)
    records["high"], records["low"], records["stack_id"] = hashes[:, 0], hashes[:, 1] >> np.uint64(48), ids
    return records


def merged(sealed: Records, fresh: Records) -> Records:
    """Both in ascending order; of those with equal keys the sealed one."""
    both = np.concatenate((sealed, fresh)).astype(RECORD)  # concatenate makes the native byte order of it
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
    """The records of rows' data, one row's after the other's."""
    return np.frombuffer(b"".join(rows), RECORD)
