"""The names of functions: a cache over `function` that stays correct when functions get better names.

Rows are immutable with one exception: a function that was ingested without a name may become the alias of a named one
(`function.alias_of`), and later of one with a better name. So named functions are cached, most of them in a mapped file
(`storage.query.stacks.name_table`). Functions of a query whose name can still improve, because it is not from debug
information, are looked up again for each query.
"""

import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select

from storage.arrays import Bool, Int64, distinct
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.answers.functions import KindName, NamedFunction, StatusName
from storage.query.stacks.name_table import Names, names_of
from storage.schema import function
from storage.snapshots.copy_binary import among
from storage.snapshots.decoded_cache import CacheSize

Archived = Callable[[Int64], Sequence[Any]]
"""Reads rows of `function` by id, as far as they exist, from storage that keeps them longer than the database."""

_BATCH = 50_000
_DICT_ENTRY = 100
"""Bytes of an entry, with the number that is its key or value."""
STATUSES: Mapping[Status, StatusName] = {
    Status.FULL: "full",
    Status.SYMTAB: "symtab",
    Status.BINARY_ONLY: "binary_only",
    Status.UNKNOWN: "unknown",
}
KINDS: Mapping[Kind, KindName] = {Kind.USER: "user", Kind.KERNEL: "kernel", Kind.MARKER: "marker"}
"""A flame graph has thousands of functions, and reading an enum member's name takes as long as the rest of a document.
"""


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """A function for answers."""

    id: int
    name: str
    file: str
    binary: str
    status: Status
    kind: Kind

    def named(self) -> NamedFunction:
        """The function with its status and kind by name."""
        return NamedFunction(
            self.id, self.name, self.file, self.binary, STATUSES[self.status], KINDS[self.kind]
        )


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of functions at one moment."""

    canonical: Int64
    """By id, the function that readers use in its place; 0: not loaded. An entry ≠ 0 of this `Naming` never changes."""
    replaced: tuple[Int64, ...]
    """The function ids that were in use before, one entry for each renaming."""


NO_FUNCTION = FunctionRow(0, "all", "", "", Status.FULL, Kind.MARKER)
_STATUS, _KIND = {int(each): each for each in Status}, {int(each): each for each in Kind}
GONE = "[swept]"
"""Name of a function that was swept after its stack was read."""


class Functions:
    """Functions by id, loaded on demand. Thread-safe."""

    def __init__(self, names: Names | None = None) -> None:
        """`names` are loaded at first."""
        names = names or names_of({})
        self._lock = threading.RLock()
        self._names = names
        self._rows: dict[int, FunctionRow] = {0: NO_FUNCTION}
        """Functions outside `names`."""
        self._canonical = names.canonical.astype(np.int64)  # 0: not loaded
        self._replaced: tuple[Int64, ...] = ()
        self._keyed = names.keyed.copy()  # ingested without a name
        self._status = names.status.copy()
        self._kind = names.kind.copy()
        self._file = names.file.copy()
        self._binary = names.binary.copy()
        self._texts: list[str] = []
        """Texts that follow those of `names`."""
        self._text_ids: dict[str, int] = {}
        self._bytes = 0

    @property
    def size(self) -> CacheSize:
        """Functions loaded and not mapped, some 300 bytes each; and 19 bytes for each id ever assigned."""
        arrays = (self._canonical, self._keyed, self._status, self._kind, self._file, self._binary)
        return CacheSize(len(self._rows), self._bytes + sum(array.nbytes for array in arrays))

    def load(self, connection: Connection, ids: Int64, swept: Archived | None = None) -> None:
        """Load these functions and those they are aliases of, for the calls below.

        `swept` reads rows that the database does not have any more.
        """
        with self._lock:
            missing = self._unknown(ids)
            for start in range(0, len(missing), _BATCH):
                self._read(connection, missing[start : start + _BATCH], swept)

    def add(self, rows: Sequence[Any]) -> None:
        """Add functions with final names: rows of `function`, together with the functions they are aliases of."""
        with self._lock:
            self._grow(max((row.function_id for row in rows), default=0) + 1)
            for row in rows:
                if not self._canonical[row.function_id]:
                    self._put_row(row, keyed=False)

    def not_loaded(self, ids: Int64) -> Int64:
        """The functions that are not loaded, ascending; 0 stands for none."""
        with self._lock:
            return self._unknown(ids)

    def look_again(self, connection: Connection, ids: Int64) -> None:
        """Update the names of the functions that these loaded ids stand for; see `naming`."""
        with self._lock:
            open_ = self._open(ids)
            for start in range(0, len(open_), _BATCH):
                self._read_aliases(connection, open_[start : start + _BATCH])

    @property
    def naming(self) -> Naming:
        """The present names of the loaded functions."""
        with self._lock:
            return Naming(self._canonical, self._replaced)

    def canonical(self, ids: npt.NDArray[np.integer]) -> Int64:
        """The functions that readers use in place of these loaded ids."""
        instead: Int64 = self._canonical[ids]
        return instead

    def status(self, ids: Int64) -> npt.NDArray[np.uint8]:
        """`Status` of loaded functions."""
        return self._status[ids]

    def kind(self, ids: Int64) -> npt.NDArray[np.uint8]:
        """`Kind` of loaded functions."""
        return self._kind[ids]

    def file(self, ids: Int64) -> Int64:
        """Numbers of the loaded functions' files, for `text`."""
        return self._file[ids].astype(np.int64)

    def binary(self, ids: Int64) -> Int64:
        """Numbers of the loaded functions' binaries, for `text`."""
        return self._binary[ids].astype(np.int64)

    def text(self, number: int) -> str:
        """The file or binary of that number."""
        mapped = self._names.texts
        return mapped[number] if number < len(mapped) else self._texts[number - len(mapped)]

    def matching(self, ids: Int64, test: Callable[[str], bool]) -> Bool:
        """Marks loaded functions with a name that passes; the root has none."""
        passed = np.zeros(len(ids), np.bool_)
        mapped = self._mapped(ids)
        used, which = distinct(ids[mapped])
        passed[mapped] = np.fromiter(map(test, self._names.name.some(used)), np.bool_, len(used))[which]
        for place in np.flatnonzero(~mapped).tolist():
            passed[place] = ids[place] > 0 and test(self._rows[int(ids[place])].name)
        return passed

    def row(self, id_: int) -> FunctionRow:
        """A loaded function."""
        row = self._rows.get(id_)
        if row is None:
            file, binary = self.text(int(self._file[id_])), self.text(int(self._binary[id_]))
            status, kind = Status(int(self._status[id_])), Kind(int(self._kind[id_]))
            row = FunctionRow(id_, self._names.name[id_], file, binary, status, kind)
        return row

    def rows(self, ids: Int64) -> list[FunctionRow]:
        """Loaded functions; for many ids in a third of the time of `row` for each."""
        inside = self._mapped(ids)
        inside &= np.fromiter((id_ not in self._rows for id_ in ids.tolist()), np.bool_, len(ids))
        used, which = distinct(ids[inside])
        named = list(self._names.name.some(used))
        names = iter(which.tolist())
        columns = (self._file[ids], self._binary[ids])
        text = {number: self.text(number) for number in np.unique(np.concatenate(columns)).tolist()}
        every = (ids, inside, *columns, self._status[ids], self._kind[ids])
        return [
            FunctionRow(id_, named[next(names)], text[file], text[binary], _STATUS[status], _KIND[kind])
            if mapped
            else self.row(id_)
            for id_, mapped, file, binary, status, kind in zip(*(c.tolist() for c in every), strict=True)
        ]

    def _mapped(self, ids: Int64) -> Bool:
        """Marks ids of functions in the mapped file."""
        inside = (ids > 0) & (ids < len(self._names.canonical))
        inside[inside] = self._names.canonical[ids[inside]] > 0
        return inside

    def _unknown(self, ids: Int64) -> Int64:
        if not len(ids) or (
            int(ids.max()) < len(self._canonical) and ((self._canonical[ids] > 0) | (ids <= 0)).all()
        ):
            return ids[:0]  # usual; then no sorting is needed
        distinct = np.unique(ids)
        distinct = distinct[distinct > 0]
        known = np.zeros(len(distinct), np.bool_)
        inside = distinct < len(self._canonical)
        known[inside] = self._canonical[distinct[inside]] > 0
        return distinct[~known]

    def _read(self, connection: Connection, ids: Int64, swept: Archived | None) -> None:
        c = function.c
        columns = (c.function_id, c.name, c.file, c.binary_name, c.status, c.kind, c.alias_of, c.binary_key)
        found = {
            row.function_id: row
            for row in connection.execute(select(*columns).where(among(c.function_id, ids.tolist())))
        }
        if swept is not None and len(found) < len(ids):
            found |= {row.function_id: row for row in swept(np.setdiff1d(ids, _ids(found)))}
        # First, and not after: if this fails, none of the functions is loaded.
        self.load(connection, _ids(row.alias_of for row in found.values() if row.alias_of), swept)
        wanted = self._unknown(ids).tolist()
        self._grow(int(ids[-1]) + 1)
        for id_ in wanted:
            row = found.get(id_)
            if row is None:  # swept after the stack was read; ids are never reused
                self._put(FunctionRow(id_, GONE, "", "", Status.UNKNOWN, Kind.USER), id_, keyed=False)
                continue
            self._put_row(row, keyed=row.binary_key is not None)

    def _open(self, ids: Int64) -> Int64:
        """The functions that any of these stands for, and whose name can still improve."""
        asked = np.zeros(len(self._canonical), np.bool_)
        asked[ids] = True
        keyed = np.flatnonzero(self._keyed)
        instead = self._canonical[keyed]
        final = (instead != keyed) & (self._status[instead] >= Status.FULL)
        still_open: Int64 = keyed[asked[instead] & ~final]
        return still_open

    def _read_aliases(self, connection: Connection, ids: Int64) -> None:
        """Load the aliases' targets, then use them in place of the aliases, all at once."""
        c, target = function.c, function.alias("target")
        rows = connection.execute(
            select(c.function_id, c.alias_of, target.c.status)
            .join(target, target.c.function_id == c.alias_of)
            .where(among(c.function_id, ids.tolist()))
        )
        # Another query may have an older snapshot than the last reader: names only improve.
        better = {
            row.function_id: row.alias_of
            for row in rows
            if (old := int(self._canonical[row.function_id])) == row.function_id
            or (old != row.alias_of and row.status > self._status[old])
        }
        if not better:
            return
        named, instead = _ids(better), _ids(better.values())
        self.load(connection, instead)
        canonical = self._canonical.copy()  # a `Naming` in use keeps its own
        canonical[named] = instead
        self._replaced = (*self._replaced, np.unique(self._canonical[named]))
        self._canonical = canonical

    def _put_row(self, row: Any, *, keyed: bool) -> None:
        file, binary = (self._shared(text) for text in (row.file, row.binary_name))
        kept = FunctionRow(row.function_id, row.name, file, binary, Status(row.status), Kind(row.kind))
        self._put(kept, row.alias_of or row.function_id, keyed=keyed)

    def _put(self, row: FunctionRow, canonical: int, *, keyed: bool) -> None:
        self._rows[row.id] = row
        self._bytes += sys.getsizeof(row) + sys.getsizeof(row.name) + _DICT_ENTRY
        self._keyed[row.id] = keyed
        self._status[row.id] = row.status
        self._kind[row.id] = row.kind
        self._file[row.id] = self._number(row.file)
        self._binary[row.id] = self._number(row.binary)
        self._canonical[row.id] = canonical  # last: it marks the row as loaded

    def _shared(self, text: str) -> str:
        """The text as one shared object, however many functions have it."""
        return self.text(self._number(text))

    def _number(self, text: str) -> int:
        number = self._text_ids.get(text)
        if number is None:
            number = self._names.texts.number(text)
            if number < 0:
                number = len(self._names.texts) + len(self._texts)
                self._texts.append(text)
            self._text_ids[text] = number
            self._bytes += sys.getsizeof(text) + _DICT_ENTRY
        return number

    def _grow(self, size: int) -> None:
        if size <= len(self._canonical):
            return
        size = max(size, len(self._canonical) * 9 // 8)
        for name in ("_canonical", "_keyed", "_status", "_kind", "_file", "_binary"):
            old = getattr(self, name)
            new = np.zeros(size, old.dtype)
            new[: len(old)] = old
            setattr(self, name, new)


def _ids(ids: Iterable[int]) -> Int64:
    return np.fromiter(ids, np.int64)
