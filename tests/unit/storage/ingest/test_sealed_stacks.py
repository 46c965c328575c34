"""GIVEN stacks by hash WHEN they are sealed THEN rows of ascending records hold each once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.ingest.sealed_stacks import RECORD, RECORDS, decode, merged, records_of, rows_of

_HASHES = st.dictionaries(
    st.tuples(st.integers(0, (1 << 64) - 1), st.integers(0, (1 << 64) - 1)),
    st.integers(1, (1 << 31) - 1),
    max_size=300,
)


@given(_HASHES, _HASHES)
def test_each_key_is_once_with_its_first_id(
    sealed: dict[tuple[int, int], int], fresh: dict[tuple[int, int], int]
) -> None:
    def records(of: dict[tuple[int, int], int]) -> np.ndarray:
        hashes = np.array(list(of), np.uint64).reshape(-1, 2)
        return records_of(hashes, np.array(list(of.values()), np.int64))

    expected: dict[bytes, int] = {}
    for (high, low), id_ in (*sealed.items(), *fresh.items()):
        expected.setdefault((high << 64 | low).to_bytes(16)[:10], id_)
    found = rows_of(merged(merged(records({}), records(sealed)), records(fresh)))
    keys = [row[at : at + 10] for _, row in found for at in range(0, len(row), RECORD.itemsize)]
    assert keys == sorted(expected)
    assert dict(zip(keys, decode([row for _, row in found])["stack_id"].tolist(), strict=True)) == expected
    assert all(low.bytes == row[:10] + bytes(6) for low, row in found)
    assert all(len(row) <= RECORDS * RECORD.itemsize for _, row in found)
