"""Receives symbols from a gateway: inspects, compares with the request and other machines' files, stores.

A kernel table names the functions of every loaded module. It is also stored for those modules that lack
symbols: they are not requested again, and captures that contain them are reprocessed.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Engine

from storage.archive import Archive
from storage.binaries import find_binary
from storage.symbols import answers, candidates, requests
from storage.symbols.answers import Answer, Standing, Verdict
from storage.symbols.candidates import Candidate
from storage.symbols.kinds import FileKind, Quality
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import SHF_EXECINSTR, SHT_NOBITS
from symbolizer.inspection.inspection import Inspection
from symbolizer.inspection.inspector import NotInspected, inspect_in_child
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import read_kernel_of_table
from symbolizer.kernel.table_parts import read_parts, write_parts
from symbolizer.sources.running_kernel import MAX_VDSO_BYTES

_MOST_WANTED: Final = 1000
"""Binaries without symbols that are checked for modules in a kernel table."""

_MOST_WEIGHED: Final = 1000
"""Modules of one table that are compared; a machine has some 200."""

_WITHHELD: Final = frozenset({Standing.UNCONFIRMED, Standing.DISPUTED})

_OF_KERNELS: Final = frozenset({"kernel", "module"})
"""Kinds of binaries whose functions a kernel table may name."""


@dataclass(frozen=True, slots=True)
class Sender:
    """The machine whose gateway sent a file."""

    machine_id: int
    name: str


@dataclass(frozen=True, slots=True)
class StoredSymbols:
    """Result for a file that belongs to the requested binary."""

    keys: tuple[str, ...]
    """Binaries that may have names now."""
    standing: Standing = Standing.AGREED
    """Whether machines agree on that binary's symbols; unconfirmed or disputed ones are not stored."""
    reason: str = ""
    """Why they were not stored, as a sentence."""


@dataclass(frozen=True, slots=True)
class RejectedSymbols:
    """Nothing was stored; why, as a sentence."""

    reason: str


def receive_symbols(
    engine: Engine, archive: Archive, path: Path, *, wanted: str, name: str, sender: Sender
) -> StoredSymbols | RejectedSymbols:
    """Check a file that a gateway sent for the binary of key `wanted`, and store it if it may name functions.

    `name` is the file's name on the sender. Raises `MalformedImage`, `StorageError`, and OSError for the file.
    """
    found = inspect_in_child(path)
    if isinstance(found, NotInspected):
        return RejectedSymbols(found.reason)
    if found.kind == FileKind.KALLSYMS:
        return _take_kernel(engine, archive, path, found, wanted=wanted, name=name, sender=sender)
    if found.key != wanted:
        return RejectedSymbols(f"The gateway sent symbols of another binary: {found.key}.")
    if found.quality == Quality.NONE:
        return RejectedSymbols("It has no function names: it was stripped of all symbols.")
    with engine.connect() as connection:
        seen = find_binary(connection, wanted)
    if seen is not None and seen.kind == "vdso":
        if (size := path.stat().st_size) > MAX_VDSO_BYTES:
            return RejectedSymbols(f"It has {size:,} bytes; a vdso has at most {MAX_VDSO_BYTES:,}.")
        _blank_code(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    verdict = _weigh(engine, Answer(wanted, sender.machine_id, digest))
    if verdict.standing in _WITHHELD:
        return StoredSymbols((), verdict.standing, _why(verdict.standing, sender, verdict.others))
    origin, machine_id = _origin(verdict, sender)
    candidate = Candidate(
        found.key, found.kind, found.quality, path, origin, name[:255], machine_id=machine_id
    )
    candidates.add(engine, archive, candidate)
    return StoredSymbols((found.key,), verdict.standing)


def keep_kernel_table(
    engine: Engine, archive: Archive, path: Path, *, origin: str, name: str, machine_id: int | None = None
) -> tuple[str, ...]:
    """Store a kernel table, and record it for each of its modules without symbols; the keys of all.

    A table from one machine only (`machine_id`) is not stored for modules that another machine runs, too.
    Raises `MalformedImage`, `StorageError`, OSError.
    """
    with path.open("rb") as file:
        kernel = read_kernel_of_table(file)
    keys = (kernel.build_id.hex(), *_wanted_modules(engine, kernel, machine_id))
    for key in keys:
        candidate = Candidate(
            key,
            FileKind.KALLSYMS,
            Quality.SYMTAB,
            path,
            origin,
            name[:255],
            variant=kernel.module_set,
            machine_id=machine_id,
        )
        candidates.add(engine, archive, candidate)
    return keys


def _take_kernel(
    engine: Engine,
    archive: Archive,
    path: Path,
    found: Inspection,
    *,
    wanted: str,
    name: str,
    sender: Sender,
) -> StoredSymbols | RejectedSymbols:
    """For a kernel that several machines run, store only the parts that two of them agree on."""
    if not found.key:  # kallsyms as in /proc, or a table without the build-id
        return RejectedSymbols("It does not identify its kernel.")
    with engine.connect() as connection:
        seen = find_binary(connection, wanted)
        is_theirs = answers.ran(connection, sender.machine_id, found.key)
    if seen is not None and seen.kind not in _OF_KERNELS:  # a table may list any build-id
        return RejectedSymbols("A kernel's table has no functions of a program.")
    with path.open("rb") as file:
        own, *modules = read_parts(file)
    if wanted not in {own.key, *(part.key for part in modules)}:
        return RejectedSymbols(f"Another kernel runs on that machine now: {found.key}.")
    if not is_theirs:
        return RejectedSymbols(f"No capture of that machine contains the kernel {found.key}.")
    parts = {part.key: part.digest for part in modules[:_MOST_WEIGHED]}
    verdict = _weigh(engine, Answer(own.key, sender.machine_id, own.digest, parts))
    if verdict.standing in _WITHHELD:
        return StoredSymbols((), verdict.standing, _why(verdict.standing, sender, verdict.others))
    origin, machine_id = _origin(verdict, sender)
    if verdict.standing is Standing.ALONE:
        kept = keep_kernel_table(engine, archive, path, origin=origin, name=name, machine_id=machine_id)
        standing = Standing.ALONE if wanted in kept else Standing.UNCONFIRMED
        return StoredSymbols(kept, standing, _why(standing, sender, ()) if standing in _WITHHELD else "")
    agreed = [part for part in modules if verdict.parts.get(part.key) is Standing.AGREED]
    common = path.with_name("common-parts")
    with path.open("rb") as file:
        write_parts(file, [own, *agreed], common)
    kept = keep_kernel_table(engine, archive, common, origin=origin, name=name)
    standing = Standing.AGREED if wanted == own.key else verdict.parts.get(wanted, Standing.UNCONFIRMED)
    return StoredSymbols(kept, standing, _why(standing, sender, ()) if standing in _WITHHELD else "")


def _blank_code(path: Path) -> None:
    """Zero the code of a vdso: a kernel patches it for its CPU, so machines with one vdso have different code.

    (arch/x86/entry/vdso/vma.c, init_vdso_image.) Raises `MalformedElf`, OSError.
    """
    content = bytearray(path.read_bytes())
    sections = ElfFile(bytes(content)).sections
    code = sections[(sections["flags"] & SHF_EXECINSTR != 0) & (sections["type"] != SHT_NOBITS)]
    blank = 0
    for start, size in sorted(zip(code["offset"].tolist(), code["size"].tolist(), strict=True)):
        end = min(start + size, len(content))
        if end > blank:  # each byte once: a file may have thousands of sections that all cover it
            begin = max(start, blank)
            content[begin:end] = bytes(end - begin)
            blank = end
    path.write_bytes(content)


def _weigh(engine: Engine, said: Answer) -> Verdict:
    with engine.begin() as connection:
        return answers.weigh(connection, said)


def _origin(verdict: Verdict, sender: Sender) -> tuple[str, int | None]:
    """Text for a stored file's origin, and the machine if no other one confirms the file."""
    if verdict.standing is Standing.ALONE:
        return f"one machine: {sender.name}", sender.machine_id
    return f"two machines: {verdict.others[0]}, {sender.name}", None


def _why(standing: Standing, sender: Sender, others: tuple[str, ...]) -> str:
    if standing is Standing.UNCONFIRMED:
        return "It is used when another machine sends the same symbols."
    return (
        f"{sender.name} and {', '.join(others) or 'another machine'} sent different symbols: one of "
        "the machines, or its binary, may be manipulated. The symbols of neither are used; upload "
        "the symbols from the build."
    )


def _wanted_modules(engine: Engine, kernel: KernelIdentity, machine_id: int | None) -> list[str]:
    """The table's modules with a build-id: another machine's module may have the same name.

    A table may list any build-id; for a program it names nothing.
    """
    builds = {build for _, build in kernel.modules if build}
    with engine.connect() as connection:
        wanted = requests.wanted(connection, limit=_MOST_WANTED)
        keys = [
            want.binary_key for want in wanted if want.binary_kind == "module" and want.binary_key in builds
        ]
        if machine_id is None:
            return keys
        elsewhere = answers.held_elsewhere(connection, machine_id, keys)
    return [key for key in keys if key not in elsewhere]
