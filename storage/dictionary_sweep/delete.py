"""Deleting dictionary rows, a few thousand at a time, while nobody looks any up."""

from collections.abc import Callable

import numpy as np
from sqlalchemy import Connection, Engine, text

from storage.dictionary_sweep.epochs import alone
from storage.dictionary_sweep.marks import Int64s, Marks
from storage.ingest.copy_in import copy_ints
from storage.ingest.interning import SWEPT

BATCH = 10_000
"""Rows a transaction deletes: a fifth of a second in which no ingestion begins."""
_LOOK = 1_000_000
"""Ids that are compared with the marks at a time."""
_STILL_NAMED = """
    NOT EXISTS (SELECT FROM function a WHERE a.alias_of = d.function_id)
    AND (d.alias_of IS NULL OR NOT EXISTS (
        SELECT FROM "binary" b JOIN capture_binary c ON c.binary_id = b.binary_id WHERE b.key = d.binary_key))
"""
"""Nor goes what a nameless function is named as while a capture holds its binary: when every stack has come
to use the name itself, a worker with old symbols may still ingest the nameless one, and must find it named."""
_NO_BINARYS = """
    NOT EXISTS (SELECT FROM capture_binary c WHERE c.binary_id = d.binary_id)
    AND NOT EXISTS (SELECT FROM debug_file f WHERE f.binary_key = d.key)
    AND NOT EXISTS (SELECT FROM function u WHERE u.binary_key = d.key)
"""
_ALSO = {"function": _STILL_NAMED, "binary": _NO_BINARYS}
"""What is looked up at the moment of deletion, besides the notes."""


def delete_unused(
    engine: Engine,
    epoch: int,
    dictionary: str,
    highest: int,
    *,
    marks: Marks | None,
    between: Callable[[], None],
) -> int:
    """Delete the rows up to `highest` that are neither marked nor touched; the number of them.

    Without `marks` every row is in question, and what `_ALSO` says of the dictionary decides. Raises
    `SweepOvertaken`.
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
