"""Functions and stacks of a set of days, loaded as questions meet them and kept between questions.

Files never change, so names are final: those of the newest of the days. Another set of days has a dictionary of its own.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from storage.landing.errors import CorruptChunk
from storage.query import budget
from storage.query.arrays import Int64, distinct
from storage.query.stacks.definitions import Definition
from storage.query.stacks.functions import Functions
from storage.query.stacks.stack_tree import Shape, Stacks, StackTree
from storage.segments.session import Session

_NODE_BYTES = 80
"""Of a node of the tree while totals of a selection are made."""
_STACKS = "SELECT stack_id, any_value(functions) AS functions FROM stacks WHERE stack_id IN (SELECT id FROM wanted) GROUP BY stack_id"
_FUNCTIONS = """
SELECT function_id, name, file, binary_name, status, kind, coalesce(alias_of, 0) AS alias_of FROM newest_functions
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


class Dictionary:
    """The stacks of some days as one prefix tree, and their functions. Safe to share between threads."""

    def __init__(self) -> None:
        """Nothing is loaded yet."""
        self.functions = Functions()
        self._tree = StackTree()

    def shape(self, session: Session, stacks: Int64) -> Shape:
        """The part of the tree that these stacks use. Raises `CorruptChunk` for one that no file has."""
        used, which = distinct(stacks)
        budget.checkpoint()
        shape = self._tree.covering(used, lambda ids: self._stacks(session, ids)).shape(used)
        budget.take(_NODE_BYTES * len(shape))
        return replace(shape, leaf=shape.leaf[which])

    def _stacks(self, session: Session, ids: Int64) -> Stacks:
        found, frames, lengths = session.lists(_STACKS, wanted={"id": ids})
        if len(found) < len(ids):
            raise CorruptChunk(f"{len(ids) - len(found)} stacks of the samples are not in the lake's files")
        functions = np.unique(frames).astype(np.int64)
        self._load(session, functions)
        return Stacks(found.astype(np.int64), self.functions.canonical(frames).astype(np.int32), lengths)

    def _load(self, session: Session, ids: Int64) -> None:
        while len(ids):
            rows = session.rows(_FUNCTIONS, wanted={"id": ids})
            columns = map(rows.values, _Function._fields)
            self.functions.add([_Function(*row) for row in zip(*columns, strict=True)])
            ids = self.functions.not_loaded(rows.ints("alias_of"))


def definitions(session: Session, ids: Int64) -> Mapping[int, Definition]:
    """Names in symbol tables and first lines, by function, of those functions that the files have."""
    rows = session.rows(
        "SELECT function_id, raw_name, start_line FROM newest_functions WHERE function_id IN (SELECT id FROM wanted)",
        wanted={"id": ids},
    )
    columns = map(rows.values, ("function_id", "raw_name", "start_line"))
    return {id_: Definition(raw_name, line) for id_, raw_name, line in zip(*columns, strict=True)}
