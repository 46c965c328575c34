"""Files worth uploading: named files, and the useful ones below folders."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Final

from services.symbols.errors import UnusableFile
from storage.symbols.keys import sentence

_ELF: Final = b"\x7fELF"
_TYPE: Final = slice(16, 18)
_RELOCATABLE: Final = 1
_CORE: Final = 4
_LOADED_LATER: Final = (".ko", ".ko.debug", ".dwo")
"""Suffixes of relocatable files that are more than a build's intermediate results: kernel modules and split DWARF."""


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file that may be uploaded."""

    path: Path
    size: int
    """In bytes."""

    @property
    def name(self) -> str:
        """The file's name in the repository."""
        return sentence(self.path.name)

    def sha256(self) -> bytes:
        """SHA-256 of its content; reads all of it. Raises OSError."""
        with self.path.open("rb") as file:
            return file_digest(file, "sha256").digest()


def files_at(paths: Sequence[Path], *, recursive: bool) -> Iterator[LocalFile]:
    """The files to upload: every named file, and the useful ones below named folders; each once.

    Links to files are followed, links to folders are not. A named file is included even if it is useless: its upload
    then reports why. Raises `UnusableFile` for a missing file, and for a folder unless `recursive`.
    """
    seen: set[tuple[int, int]] = set()
    for named in paths:
        try:
            found = named.stat()
        except OSError as error:
            raise UnusableFile(f"Cannot read {named}: {error.strerror}.") from error
        if not stat.S_ISDIR(found.st_mode):
            if not stat.S_ISREG(found.st_mode):
                raise UnusableFile(f"{named} is neither a file nor a folder.")
            yield from _once(named, found, seen)
        elif not recursive:
            raise UnusableFile(f"{named} is a folder: add -r to upload the useful files in it.")
        else:
            yield from _below(named, seen)


def is_useful(path: Path) -> bool:
    """Whether a file may contain symbols of running code: an ELF file, but no object file or core dump."""
    try:
        with path.open("rb") as file:
            head = file.read(20)
    except OSError:
        return False
    if not head.startswith(_ELF) or len(head) < 20:
        return False
    kind = int.from_bytes(head[_TYPE], "little" if head[5] != 2 else "big")
    return kind != _CORE and (kind != _RELOCATABLE or path.name.endswith(_LOADED_LATER))


def _below(folder: Path, seen: set[tuple[int, int]]) -> Iterator[LocalFile]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            try:
                path = Path(parent, name).resolve(strict=True)  # a link's name may differ from its file's
                found = path.stat()
            except (OSError, RuntimeError):
                continue  # a dangling or circular link, or a file removed just now
            if stat.S_ISREG(found.st_mode) and is_useful(path):
                yield from _once(path, found, seen)


def _once(path: Path, found: os.stat_result, seen: set[tuple[int, int]]) -> Iterator[LocalFile]:
    identity = found.st_dev, found.st_ino
    if identity not in seen:
        seen.add(identity)
        yield LocalFile(path, found.st_size)
