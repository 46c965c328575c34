"""Symbols that a gateway sent: inspected, compared with what was asked for, and kept as candidates.

A kernel table names the functions of every module that was loaded, so it is kept for each of those
that lack symbols, too: nobody is asked for them again, and captures that hold them are landed again.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Engine

from storage.archive import Archive
from storage.binaries import find_binary
from storage.symbols import asks, candidates
from storage.symbols.candidates import Candidate
from storage.symbols.kinds import FileKind, Quality
from symbolizer.inspection.inspection import Inspection
from symbolizer.inspection.inspector import NotInspected, inspect_apart
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import read_kernel_of_table

_MOST_WANTED: Final = 1000
"""Binaries that lack symbols and are looked at for modules that a kernel table names."""

_OF_KERNELS: Final = frozenset({"kernel", "module"})
"""Kinds of binaries whose functions a kernel table may name."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """What was kept."""

    keys: tuple[str, ...]
    """Binaries that may have names now."""


@dataclass(frozen=True, slots=True)
class Useless:
    """Nothing was kept; why, as a sentence."""

    reason: str


def take_in(
    engine: Engine, archive: Archive, path: Path, *, wanted: str, name: str, origin: str
) -> Arrived | Useless:
    """Keep a file that came for the binary of key `wanted`; `name` is what its sender calls it.

    Raises `StorageError`, and OSError for the file.
    """
    found = inspect_apart(path)
    if isinstance(found, NotInspected):
        return Useless(found.reason)
    if found.kind == FileKind.KALLSYMS:
        return _take_kernel(engine, archive, path, found, wanted=wanted, name=name, origin=origin)
    if found.key != wanted:
        return Useless(f"What came is of {found.key}.")
    if found.quality == Quality.NONE:
        return Useless("It names none of its functions: it was stripped of all symbols.")
    candidate = Candidate(found.key, found.kind, found.quality, path, origin, name[:255])
    candidates.add(engine, archive, candidate)
    return Arrived((found.key,))


def keep_kernel_table(engine: Engine, archive: Archive, path: Path, *, origin: str, name: str) -> Arrived:
    """Keep a kernel table, and note it for each of its modules that nobody has symbols for.

    Raises `MalformedImage`, `StorageError`, OSError.
    """
    with path.open("rb") as file:
        kernel = read_kernel_of_table(file)
    keys = [kernel.build_id.hex(), *_wanted_modules(engine, kernel)]
    for key in keys:
        candidate = Candidate(
            key, FileKind.KALLSYMS, Quality.SYMTAB, path, origin, name[:255], variant=kernel.module_set
        )
        candidates.add(engine, archive, candidate)
    return Arrived(tuple(keys))


def _take_kernel(
    engine: Engine, archive: Archive, path: Path, found: Inspection, *, wanted: str, name: str, origin: str
) -> Arrived | Useless:
    if not found.key:  # as /proc/kallsyms lists them, or a table that leaves it out
        return Useless("It does not say which kernel it is of.")
    with engine.connect() as connection:
        seen = find_binary(connection, wanted)
    if seen is not None and seen.kind not in _OF_KERNELS:  # a table may list any build-id
        return Useless("A kernel's table names nothing of a program.")
    with path.open("rb") as file:
        kernel = read_kernel_of_table(file)
    if wanted not in kernel.keys:
        return Useless(f"Another kernel runs on that machine now: {found.key}.")
    return keep_kernel_table(engine, archive, path, origin=origin, name=name)


def _wanted_modules(engine: Engine, kernel: KernelIdentity) -> list[str]:
    """Those with a build-id: another module may have the same name on another machine.

    A table may list any build-id; of a program it names nothing.
    """
    builds = {build for _, build in kernel.modules if build}
    with engine.connect() as connection:
        wanted = asks.wanted(connection, limit=_MOST_WANTED)
    return [want.binary_key for want in wanted if want.binary_kind == "module" and want.binary_key in builds]
