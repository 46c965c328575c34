"""Names that an interner remembers by object: no more of their characters than agreed."""

from collections.abc import Sequence

import numpy as np
from sqlalchemy import create_engine

from storage.ingest.hash_table import Ids
from storage.ingest.interning import NAMES_CHARACTERS, Interner
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import FunctionName, Status

_LONG = "x" * (1 << 20)
"""One for all, so the test holds a megabyte only."""


class WithoutDatabase(Interner):
    """Functions are numbered as they come."""

    def _functions(self, names: Sequence[FunctionName], kinds: Sequence[int]) -> Ids:
        assert len(names) == len(kinds)
        return np.arange(1, len(names) + 1, dtype=np.int32)


def test_long_names_are_let_go() -> None:
    interner = WithoutDatabase(create_engine("postgresql+psycopg2://"))
    for _ in range(10):
        names = [
            *(FunctionName(_LONG, _LONG, "", "perf", Status.SYMTAB) for _ in range(20)),
            *(FunctionName("f", "g", _LONG, "perf", Status.FULL) for _ in range(5)),
            *(FunctionName("f", _LONG, "", "perf", Status.SYMTAB) for _ in range(5)),
            *(FunctionName("f", "f", "", _LONG, Status.BINARY_ONLY, binary_key="k") for _ in range(5)),
        ]
        interner.functions(names, [Kind.USER] * len(names))
    assert 0 < len(interner._names) <= 2 * NAMES_CHARACTERS // len(_LONG)
