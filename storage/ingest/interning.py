"""The dictionaries: every function, stack, label and binary is a row once, and a number from then on.

An `Interner` lives as long as its process and remembers what it looked up. What it has not seen is
inserted in a short transaction of its own, before and apart from the ingestion that needs it: many
workers meet the same new functions, and none may wait for another's facts. Rows are inserted in the
order of their key, so that two workers with the same new rows wait for each other in one direction
only. A crash leaves rows nobody uses yet, which the next ingestion finds. These commits wait for the
disk: a remembered id must outlive a crash of the server.

Rows that nothing uses any more are swept. What is remembered is good for one epoch of the dictionaries
(`storage.ingest.dictionary_epoch`); when the next begins it is forgotten and `DictionarySwept` raised, because
ids of the old epoch may be in the caller's hands already: he begins again.
"""

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from sqlalchemy import Column, Connection, Engine, Table, text
from sqlalchemy.dialects import postgresql

from storage.ingest.binary_images import BinaryImage
from storage.ingest.copy_in import copy_into, copy_ints
from storage.ingest.dictionary_epoch import Epoch, hold
from storage.ingest.errors import DictionarySwept
from storage.ingest.hash_table import UNKNOWN, Ids, Int64s
from storage.ingest.id_cache import HashIdCache, IdCache, ObjectIdCache
from storage.ingest.stack_hash import Hashes, first_of_equal
from storage.ingest.stack_rows import StackRows, insert_stacks
from storage.ingest.symbolized import FunctionName
from storage.schema import binary, dim_value, function, label_set, sample_type

DEFAULT_STACK_BYTES: Final = 256 << 20
"""Of memory for stacks: 6 million. A process that meets more than that in a while asks the database again."""
FUNCTIONS_CACHED: Final = 1_500_000
"""67 MB when full. A fleet whose stacks are five million has half a million functions."""
OTHERS_CACHED: Final = 100_000
"""Of each other dictionary; 8 MB when full."""
NAMES_CACHED: Final = 390_000
"""About as many as the images at hand keep; 23 MB when full, the names apart. With fewer than a fleet's hot
programs have, more than half of an ingestion's time went into comparing names and looking them up."""
NAMES_CHARACTERS: Final = 64 << 20
"""Of so many names, 172 each, files and programs with them; twice as many are held at most. A JIT's names may
have thousands each, and would fill gigabytes by their number alone."""
NAMES_TURNS: Final = 32
"""Ingestions after which names that none of them had are let go."""


class Interner:
    """Ids of dictionary rows, inserted when they are new. For one thread; owns its transactions."""

    def __init__(self, engine: Engine, *, stack_bytes: int = DEFAULT_STACK_BYTES) -> None:
        """`stack_bytes` is how much memory the ids of stacks may take; the rest has fixed bounds."""
        self._engine = engine
        self._stacks = HashIdCache.within(stack_bytes)
        self._others: dict[str, IdCache] = {}
        self._names = ObjectIdCache(NAMES_CACHED, NAMES_TURNS, size=_characters, size_limit=NAMES_CHARACTERS)
        self._epoch: int | None = None

    def hold(self, connection: Connection) -> None:
        """Keep all rows whose ids were handed out until the transaction ends; begin the ingestion's with it.

        Raises `DictionarySwept`: some may be gone already; everything is forgotten, intern it again.
        """
        self._agree(hold(connection))

    def functions(self, names: Sequence[FunctionName], kinds: Sequence[int]) -> Ids:
        """Ids of functions; one that was named after it ingested is the function it is named as.

        `kinds` are `storage.ingest.marker_frames.Kind` of each.
        """
        # A resolver says the same names of an image again and again: the objects are compared first.
        found = self._names.ids(names)
        missing = np.flatnonzero(found == UNKNOWN).tolist()
        if missing:
            unmet = {id(names[index]): index for index in missing}
            new = [names[index] for index in unmet.values()]
            ids = self._functions(new, [kinds[index] for index in unmet.values()])
            self._names.add(new, ids)
            given = dict(zip(unmet, ids.tolist(), strict=True))
            found[missing] = [given[id(names[index])] for index in missing]
        return found

    def _functions(self, names: Sequence[FunctionName], kinds: Sequence[int]) -> Ids:
        def row_of(index: int) -> tuple[Any, ...]:
            name = names[index]
            raw = "" if name.raw_name == name.name else name.raw_name
            return (
                function_hash(keys[index]), kinds[index], name.name, raw, name.file, name.binary_name,
                _line(name.start_line), name.status, name.binary_key, name.start,
            )  # fmt: skip

        columns = (
            "hash", "kind", "name", "raw_name", "file", "binary_name", "start_line", "status", "binary_key", "start",
        )  # fmt: skip
        keys = [identity(name) for name in names]
        return self._intern(function, columns, keys, row_of)

    def stacks(self, hashes: Hashes, rows_of: Callable[[Int64s], StackRows]) -> Ids:
        """Ids of stacks; `rows_of` has the rows of some, by index, and says in which order to number them.

        The hashes may repeat; `rows_of` is asked for one index of each that is not remembered.
        """
        order = np.argsort(hashes[:, 0])
        ordered = hashes[order]
        fresh = first_of_equal(ordered)
        distinct = ordered[fresh]
        ids = self._stacks.ids(distinct)
        missing = np.flatnonzero(ids == UNKNOWN)
        if len(missing):
            rows = rows_of(order[fresh][missing])
            with self._engine.begin() as connection:
                epoch = hold(connection)
                self._agree(epoch)
                new = insert_stacks(connection, rows, note=epoch.marking)
            self._stacks.add(rows.hashes, new)
            ids[missing[rows.asked]] = new
        result = np.empty(len(order), np.int32)
        result[order] = ids[np.cumsum(fresh) - 1]
        return result

    def labels(self, dim: str, values: Sequence[str]) -> Ids:
        """Ids of the values of a dimension, e.g. of all applications of a capture."""
        keys = [(dim, value) for value in values]
        return self._intern(dim_value, ("dim", "value"), keys, keys.__getitem__)

    def label_sets(self, sets: Sequence[Mapping[str, str]]) -> Ids:
        """Ids of sets of labels."""

        def row_of(index: int) -> tuple[Any, ...]:
            labels = dict(keys[index])
            return _digest(json.dumps(labels)), labels

        keys = [tuple(sorted(labels.items())) for labels in sets]
        return self._intern(label_set, ("hash", "labels"), keys, row_of)

    def sample_types(self, types: Sequence[tuple[str, str]]) -> Ids:
        """Ids of (event, unit)."""
        return self._intern(sample_type, ("event", "unit"), types, types.__getitem__)

    def binaries(self, images: Sequence[BinaryImage]) -> Ids:
        """Ids of binaries; name and path are those of whoever saw it first."""

        def row_of(index: int) -> tuple[Any, ...]:
            image = images[index]
            return image.key, image.name, image.path, image.kind

        keys = [image.key for image in images]
        return self._intern(binary, ("key", "name", "path", "kind"), keys, row_of)

    def forget(self) -> None:
        """Forget every id, because rows nobody used were swept."""
        self._stacks.clear()
        self._others.clear()
        self._names.clear()
        self._epoch = None

    def _agree(self, now: Epoch) -> None:
        if self._epoch is None:
            self._epoch = now.number
        if self._epoch != now.number:
            self.forget()
            raise DictionarySwept("A sweep of the dictionaries began; what was looked up before is void.")

    def _intern(
        self,
        table: Table,
        columns: Sequence[str],
        keys: Sequence[Hashable],
        row_of: Callable[[int], Sequence[Any]],
    ) -> Ids:
        """Ids of the keys; `row_of` says what to insert for the key at an index."""
        if (known := self._others.get(table.name)) is None:
            limit = FUNCTIONS_CACHED if table is function else OTHERS_CACHED
            known = self._others[table.name] = IdCache(limit)
        found = known.ids(keys)
        if None in found:
            new: dict[Hashable, int] = {}
            for index, (key, id_) in enumerate(zip(keys, found, strict=True)):
                if id_ is None:
                    new.setdefault(key, index)
            rows = [row_of(index) for index in new.values()]
            with self._engine.begin() as connection:
                epoch = hold(connection)
                self._agree(epoch)
                ids = _upsert(connection, table, columns, rows, note=epoch.marking).tolist()
            known.add(list(new), ids)  # after the commit: what is remembered must be there
            given = dict(zip(new, ids, strict=True))
            found = [given[key] if id_ is None else id_ for key, id_ in zip(keys, found, strict=True)]
        return np.array(found, np.int32)


def _characters(name: FunctionName) -> int:
    """At most so many are held for it: those of programs and files are shared with other names, mostly."""
    raw = 0 if name.raw_name is name.name else len(name.raw_name)
    return len(name.name) + raw + len(name.file) + len(name.binary_name) + len(name.binary_key or "")


Identity = tuple[str, str, str] | tuple[str, int | None]


def identity(name: FunctionName) -> Identity:
    """What makes two functions the same: name, file and binary name; without a name, key and start."""
    if name.binary_key is None:
        return name.name, name.file, name.binary_name
    return name.binary_key, name.start


def function_hash(key: Identity) -> bytes:
    """The identity as `function.hash` holds it."""
    if len(key) == 3:
        return _digest("named", *key)
    return _digest("unnamed", key[0], "" if key[1] is None else str(key[1]))


def _line(line: int) -> int:
    return line if 0 <= line < 1 << 31 else 0  # debug information may say anything


def _digest(*parts: str) -> bytes:
    return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).digest()


_KEYS = {
    "function": ("hash",),
    "stack": ("hash",),
    "label_set": ("hash",),
    "dim_value": ("dim", "value"),
    "sample_type": ("event", "unit"),
    "binary": ("key",),
}
_DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy leaves it untyped
SWEPT: Mapping[str, tuple[str, ...]] = {
    "stack": ("stack_id",),
    "function": ("function_id", "alias_of"),
    "label_set": ("label_set_id",),
    "dim_value": ("value_id",),
    "binary": ("binary_id",),
}
"""Dictionaries whose unused rows are swept, and their columns with ids that are handed out."""
_RESULTS = {"function": "coalesce(d.alias_of, d.function_id)"}


def _upsert(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, note: bool
) -> Ids:
    """Insert the rows that are not there, by COPY into a temporary table; their ids in order.

    `note` those that are there: a sweep that is under way may not have seen them in use.
    """
    name = connection.dialect.identifier_preparer.format_table(table)  # "binary" is a reserved word
    fresh = f"fresh_{table.name}"
    types = ", ".join(f"{column} {_type(table.c[column])}" for column in columns)
    names = ", ".join(columns)
    same = " AND ".join(f"d.{key} = t.{key}" for key in _KEYS[table.name])
    order = ", ".join(f"t.{key}" for key in _KEYS[table.name])
    result = _RESULTS.get(table.name, f"d.{next(iter(table.primary_key)).name}")
    # The temporary table has no statistics; without these the planner may read a whole dictionary.
    connection.execute(text("SET LOCAL enable_hashjoin = off"))
    connection.execute(text("SET LOCAL enable_mergejoin = off"))
    connection.execute(
        text(f"CREATE TEMPORARY TABLE IF NOT EXISTS {fresh} (n int, {types}) ON COMMIT DELETE ROWS")
    )
    copy_into(connection, table, columns, rows, target=fresh)
    if note and table.name in SWEPT:
        # All in one order: of two workers that each note a function and what it is an alias of, in the
        # other's order, each would hold what the other waits for.
        noted = ", ".join(f"d.{id_}" for id_ in SWEPT[table.name])
        connection.execute(
            text(
                f"INSERT INTO dictionary_touched (dictionary, id) SELECT DISTINCT '{table.name}', used.id FROM {fresh} t"  # noqa: S608 - names of the schema
                f" JOIN {name} d ON {same} CROSS JOIN LATERAL unnest(ARRAY[{noted}]) used (id)"
                " WHERE used.id IS NOT NULL ORDER BY used.id ON CONFLICT DO NOTHING"
            )
        )
    missing = (
        f"SELECT {names} FROM {fresh} t WHERE NOT EXISTS (SELECT FROM {name} d WHERE {same}) ORDER BY {order}"  # noqa: S608 - names of the schema
    )
    connection.execute(text(f"INSERT INTO {name} ({names}) {missing} ON CONFLICT DO NOTHING"))
    there = f"SELECT t.n, cast({result} AS int) FROM {fresh} t JOIN {name} d ON {same}"  # noqa: S608 - likewise
    found = copy_ints(connection, there, 2)
    ids = np.empty(len(rows), np.int32)
    assert len(found) == len(rows)
    ids[found[:, 0]] = found[:, 1]
    return ids


def _type(column: Column[Any]) -> str:
    return str(column.type.compile(dialect=_DIALECT))
