"""The dictionaries: each function, stack, label and binary has one row, and is then referred to by its id.

An `Interner` lives as long as its process and caches its lookups. New rows are inserted in a short transaction of their
own, before the ingestion that needs them: many workers meet the same new functions, and none may wait for another's
facts. Rows are inserted in key order, so two workers with the same new rows cannot deadlock. A crash leaves unused
rows, which the next ingestion finds. These commits wait for the disk: a cached id must survive a crash of the server.
Unused rows are swept. Cached ids are valid for one epoch of the dictionaries (`storage.ingest.dictionary_epoch`). When
the next epoch begins, the cache is cleared and `DictionarySwept` is raised, because the caller may already hold ids of
the old epoch and must restart.
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
"""Memory for stack ids: 6 million. A process that meets more in a while looks them up again."""
FUNCTIONS_CACHED: Final = 1_500_000
"""67 MB when full. A fleet with five million stacks has half a million functions."""
OTHERS_CACHED: Final = 100_000
"""For each other dictionary; 8 MB when full."""
NAMES_CACHED: Final = 390_000
"""About as many names as the cached images have; 23 MB when full, without the names. With fewer entries than the names
of a fleet's hot programs, comparing and looking up names took more than half of the time of ingestion."""
NAMES_CHARACTERS: Final = 64 << 20
"""Characters of the cached names, 172 each, with files and programs; at most twice as many are held. Names of a JIT may
have thousands each, and a limit on their number alone would let them fill gigabytes."""
NAMES_TURNS: Final = 32
"""Ingestions after which unused names are evicted."""


class Interner:
    """Looks up the ids of dictionary rows and inserts new rows. For one thread; owns its transactions."""

    def __init__(self, engine: Engine, *, stack_bytes: int = DEFAULT_STACK_BYTES) -> None:
        """`stack_bytes` limits the memory of stack ids; other caches have fixed limits."""
        self._engine = engine
        self._stacks = HashIdCache.within(stack_bytes)
        self._others: dict[str, IdCache] = {}
        self._names = ObjectIdCache(NAMES_CACHED, NAMES_TURNS, size=_characters, size_limit=NAMES_CHARACTERS)
        self._epoch: int | None = None

    def hold(self, connection: Connection) -> None:
        """Keep all rows whose ids were returned until the transaction ends; the ingestion's transaction begins with it.

        Raises `DictionarySwept` if some may be deleted; the caches are then cleared, and the caller interns again.
        """
        self._agree(hold(connection))

    def functions(self, names: Sequence[FunctionName], kinds: Sequence[int]) -> Ids:
        """Ids of functions; a function that was ingested unnamed and named later has the id of the named function.

        `kinds` are `storage.ingest.marker_frames.Kind` of each.
        """
        # A resolver returns the same name objects of an image repeatedly, so identity is compared first.
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
        """Ids of stacks; `rows_of` returns the rows of stacks by index, in the order in which they are numbered.

        The hashes may repeat; `rows_of` is called with one index of each hash that is not cached.
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
        """Ids of binaries; name and path are those of the first capture with the binary."""

        def row_of(index: int) -> tuple[Any, ...]:
            image = images[index]
            return image.key, image.name, image.path, image.kind

        keys = [image.key for image in images]
        return self._intern(binary, ("key", "name", "path", "kind"), keys, row_of)

    def forget(self) -> None:
        """Clear the caches, because unused rows were swept."""
        self._stacks.clear()
        self._others.clear()
        self._names.clear()
        self._epoch = None

    def _agree(self, now: Epoch) -> None:
        if self._epoch is None:
            self._epoch = now.number
        if self._epoch != now.number:
            self.forget()
            raise DictionarySwept(
                "A sweep of the dictionaries began; ids that were looked up before are invalid."
            )

    def _intern(
        self,
        table: Table,
        columns: Sequence[str],
        keys: Sequence[Hashable],
        row_of: Callable[[int], Sequence[Any]],
    ) -> Ids:
        """Ids of the keys; `row_of` returns the row to insert for the key at an index."""
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
            known.add(list(new), ids)  # after the commit: cached rows must exist
            given = dict(zip(new, ids, strict=True))
            found = [given[key] if id_ is None else id_ for key, id_ in zip(keys, found, strict=True)]
        return np.array(found, np.int32)


def _characters(name: FunctionName) -> int:
    """Upper bound of the characters held for a name; strings of programs and files are mostly shared by names."""
    raw = 0 if name.raw_name is name.name else len(name.raw_name)
    return len(name.name) + raw + len(name.file) + len(name.binary_name) + len(name.binary_key or "")


Identity = tuple[str, str, str] | tuple[str, int | None]


def identity(name: FunctionName) -> Identity:
    """The identity of a function: name, file and binary name; without a name, key and start."""
    if name.binary_key is None:
        return name.name, name.file, name.binary_name
    return name.binary_key, name.start


def function_hash(key: Identity) -> bytes:
    """The identity as stored in `function.hash`."""
    if len(key) == 3:
        return _digest("named", *key)
    return _digest("unnamed", key[0], "" if key[1] is None else str(key[1]))


def _line(line: int) -> int:
    return line if 0 <= line < 1 << 31 else 0  # debug information may contain any number


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
"""Dictionaries whose unused rows are swept, and their columns with ids that are returned."""
_RESULTS = {"function": "coalesce(d.alias_of, d.function_id)"}


def _upsert(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, note: bool
) -> Ids:
    """Insert missing rows by COPY into a temporary table; return the ids of all rows in order.

    With `note`, record existing rows: a running sweep may not have seen them in use.
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
        # All in one order: if two workers recorded a function and its alias in opposite orders, each would wait for the
        # other.
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
