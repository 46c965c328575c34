"""Deletes dictionary rows, a few thousand at a time, while no ingestion looks up ids."""

from collections.abc import Callable

import numpy as np
from sqlalchemy import Connection, Engine, text

from storage.dictionary_sweep.epochs import alone
from storage.dictionary_sweep.marks import Int64s, Marks
from storage.ingest.copy_in import copy_ints
from storage.ingest.interning import SWEPT

BATCH = 10_000
"""Rows deleted per transaction; it blocks new ingestions for a fifth of a second."""
_LOOK = 1_000_000
"""Ids compared with the marks at a time."""
_STILL_NAMED = """
    NOT EXISTS (SELECT FROM function a WHERE a.alias_of = d.function_id)
    AND (d.alias_of IS NULL OR NOT EXISTS (
        SELECT FROM "binary" b JOIN capture_binary c ON c.binary_id = b.binary_id WHERE b.key = d.binary_key))
"""
"""The target of an alias stays, and so does the alias, a nameless function, while a capture holds its binary.

Even when every stack uses the target itself, a worker with old symbols may still ingest the nameless function, which
must resolve to the target."""
_NO_BINARYS = """
    NOT EXISTS (SELECT FROM capture_binary c WHERE c.binary_id = d.binary_id)
    AND NOT EXISTS (SELECT FROM debug_file f WHERE f.binary_key = d.key)
    AND NOT EXISTS (SELECT FROM function u WHERE u.binary_key = d.key)
"""
_ALSO = {"function": _STILL_NAMED, "binary": _NO_BINARYS}
"""Conditions checked at deletion, in addition to touched ids."""


def delete_unused(
    engine: Engine,
    epoch: int,
    dictionary: str,
    highest: int,
    *,
    marks: Marks | None,
    between: Callable[[], None],
) -> int:
    """Delete the rows up to `highest` that are neither marked nor touched; return their number.

    Without `marks` every row is a candidate, and the condition in `_ALSO` decides. Raises `SweepOvertaken`.
    """
    deleted = 0
    for first in range(1, highest + 1, _LOOK):
        last = min(first + _LOOK - 1, highest)
        with engine.connect() as connection:
            ids = _ids(connection, dictionary, first, last)
        unused = ids if marks is None else marks.unused(dictionary, ids)
        for start in range(0, len(unused), BATCH):
            with alone(engine, epoch) as connection:
                deleted += _delete(connection, dictionary, unused[start : start + BATCH])
            between()
    return deleted


def _ids(connection: Connection, dictionary: str, first: int, last: int) -> Int64s:
    key = SWEPT[dictionary][0]
    query = f'SELECT {key} FROM "{dictionary}" WHERE {key} BETWEEN {first} AND {last}'  # noqa: S608 - names of the schema, and numbers
    return np.sort(copy_ints(connection, query, 1)[:, 0])


def _delete(connection: Connection, dictionary: str, ids: Int64s) -> int:
    key = SWEPT[dictionary][0]
    touched = f"SELECT FROM dictionary_touched t WHERE t.dictionary = '{dictionary}' AND t.id = d.{key}"
    also = f"AND {_ALSO[dictionary]}" if dictionary in _ALSO else ""
    statement = f'DELETE FROM "{dictionary}" d WHERE d.{key} = ANY(:ids) AND NOT EXISTS ({touched}) {also}'  # noqa: S608 - likewise
    return connection.execute(text(statement), {"ids": ids.tolist()}).rowcount
