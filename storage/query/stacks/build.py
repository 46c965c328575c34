"""Builds the file of stacks and names in a child process, so that its parent does not hold the memory for it.

    python -m storage.query.stacks.build FOLDER INSTEAD_OF        the database's URL on standard input

One process at a time builds in a folder: it holds the folder's lock until it exits. A process that waited for the lock
keeps the other's file, unless that is `INSTEAD_OF`, the file that its caller has.
"""

import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sqlalchemy import Connection, Engine, select

from storage import identity
from storage.arrays import Int64
from storage.database import open_engine, snapshot
from storage.errors import StorageError
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.stacks.files import StackFiles
from storage.query.stacks.function_names import GONE
from storage.query.stacks.name_table import NamedFunction, Names, names_of
from storage.query.stacks.stack_file import MadeOf, StackFile, stack_file_of, write_stack_file
from storage.query.stacks.stack_tree import Stacks
from storage.schema import function
from storage.snapshots.stack_reading import read_stacks

_MOST_BYTES = 1 << 36
_AT_ONCE = 20_000
"""Rows of functions read at a time."""
_NICE = 10
"""Queries have priority."""


def build(engine: Engine, files: StackFiles, instead_of: str = "") -> None:
    """Build the database's file, unless another process did meanwhile. Raises `StorageError`, OSError."""
    named = identity.ensure(engine)
    with _alone(files.folder), snapshot(engine) as connection:
        current = files.open(connection)
        if current is not None and current.token != instead_of and not files.outdated(connection, current):
            return
        current = None  # frees it before as much is read again
        made_of = MadeOf.now(connection, named)
        write_stack_file(files.path(named), read_stack_file(connection), made_of)
        files.remove_unused(connection)


def read_stack_file(connection: Connection) -> StackFile:
    """All stacks of a snapshot and the names of their functions, in memory. Raises `CorruptChunk`."""
    ids, frames, lengths = read_stacks(connection, None, limit=_MOST_BYTES)
    used = np.zeros(int(frames.max(initial=0)) + 1, np.bool_)
    used[frames] = True
    names = _read_names(connection, np.flatnonzero(used))
    np.take(names.canonical, frames, out=frames, mode="clip")  # any other mode makes a copy first
    return stack_file_of(Stacks(ids, frames, lengths), names)


def _read_names(connection: Connection, used: Int64) -> Names:
    """The names of functions, ascending, and of the functions that readers use in their place."""
    c = function.c
    named = select(c.function_id, c.alias_of).where(c.alias_of.is_not(None))
    instead = {row.function_id: row.alias_of for row in connection.execute(named)}
    wanted = set(used.tolist())
    wanted.update([instead[id_] for id_ in wanted if id_ in instead])
    columns = (c.function_id, c.name, c.file, c.binary_name, c.status, c.kind, c.binary_key)
    rows = connection.execute(select(*columns).execution_options(stream_results=True))
    found: dict[int, NamedFunction] = {}
    for part in rows.partitions(_AT_ONCE):
        for row in part:
            if (id_ := row.function_id) in wanted:
                keyed, called = row.binary_key is not None, instead.get(id_, id_)
                found[id_] = NamedFunction(
                    row.name, row.file, row.binary_name, row.status, row.kind, keyed, called
                )
    for id_ in wanted - found.keys():  # swept after the stack was read
        found[id_] = NamedFunction(GONE, "", "", Status.UNKNOWN, Kind.USER, keyed=False, canonical=id_)
    return names_of(found)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder's lock. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def main() -> None:
    """Build as the arguments request; on failure exit with a message and status 1."""
    os.nice(_NICE)
    folder, instead_of = sys.argv[1:]
    engine = open_engine(sys.stdin.read(), application="stacks", pool_size=1)
    try:
        build(engine, StackFiles(Path(folder)), instead_of)
    except (StorageError, OSError, ValueError, MemoryError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    finally:
        engine.dispose()


if __name__ == "__main__":
    main()
