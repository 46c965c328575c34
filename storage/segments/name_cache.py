"""Functions and stacks of a set of days, loaded on demand and cached between queries.

Files never change, so the names of a set of days are final: those of its newest day. Each set has its own dictionary.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from storage.arrays import Int64, distinct
from storage.errors import CorruptChunk
from storage.query.stacks.definitions import Definition
from storage.query.stacks.function_names import Functions
from storage.query.stacks.stack_tree import Shape, Stacks, StackTree
from storage.segments.session import Session
from storage.snapshots import query_budget

_NODE_BYTES = 80
"""Bytes per tree node while totals of a selection are computed."""
_STACKS = "SELECT stack_id, any_value(functions) AS functions FROM stacks WHERE stack_id IN (SELECT id FROM wanted) GROUP BY stack_id"
_FUNCTIONS = """
SELECT function_id, name, file, binary_name, status, kind, coalesce(alias_of, 0) AS alias_of, binary_key FROM newest_functions
WHERE function_id IN (SELECT id FROM wanted)
"""


class _Function(NamedTuple):
    function_id: int
    name: str
    file: str
    binary_name: str
    status: int
    kind: int
    alias_of: int
    binary_key: str | None


class StoredNames:
    """Reads stored stacks and functions of one query's days; a `storage.query.samples.ArchivedNames`."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def stacks(self, ids: Int64) -> Stacks:
        """These stacks; ids without a stored stack are left out."""
        found, frames, lengths = self._session.lists(_STACKS, wanted={"id": ids})
        return Stacks(found.astype(np.int64), frames, lengths)

    def functions(self, ids: Int64) -> list[_Function]:
        """Rows of these functions; ids without a stored function are left out."""
        rows = self._session.rows(_FUNCTIONS, wanted={"id": ids})
        return [_Function(*row) for row in zip(*map(rows.values, _Function._fields), strict=True)]


class Dictionary:
    """The stacks of a set of days as one prefix tree, and their functions. Safe to share between threads."""

    def __init__(self) -> None:
        """Start empty."""
        self.functions = Functions()
        self._tree = StackTree()

    def shape(self, session: Session, stacks: Int64) -> Shape:
        """The part of the tree that these stacks use. Raises `CorruptChunk` for a stack that no file has."""
        used, which = distinct(stacks)
        query_budget.checkpoint()
        shape = self._tree.covering(used, lambda ids: self._stacks(session, ids)).shape(used)
        query_budget.take(_NODE_BYTES * len(shape))
        return replace(shape, leaf=shape.leaf[which])

    def _stacks(self, session: Session, ids: Int64) -> Stacks:
        names = StoredNames(session)
        found = names.stacks(ids)
        if len(found.ids) < len(ids):
            raise CorruptChunk(
                f"{len(ids) - len(found.ids)} stacks of the samples are not in the lake's files"
            )
        self._load(names, np.unique(found.frames).astype(np.int64))
        return replace(found, frames=self.functions.canonical(found.frames).astype(np.int32))

    def _load(self, names: StoredNames, ids: Int64) -> None:
        while len(ids):
            rows = names.functions(ids)
            self.functions.add(rows)
            ids = self.functions.not_loaded(np.array([row.alias_of for row in rows], np.int64))


def definitions(session: Session, ids: Int64) -> Mapping[int, Definition]:
    """Symbol-table names and first lines by function; functions that no file has are left out."""
    rows = session.rows(
        "SELECT function_id, raw_name, start_line FROM newest_functions WHERE function_id IN (SELECT id FROM wanted)",
        wanted={"id": ids},
    )
    columns = map(rows.values, ("function_id", "raw_name", "start_line"))
    return {id_: Definition(raw_name, line) for id_, raw_name, line in zip(*columns, strict=True)}
