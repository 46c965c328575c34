"""Opens the file of a sampled build. The file is verified by its content, never trusted for its path."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Final

from gateway.errors import AccessDenied, BadImage, ProcessGone
from gateway.process.file_candidates import candidates
from gateway.process.maps import Vma, read_executable_maps
from gateway.unwind.elf import ElfLayout, read_layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateway.symbols.seen_builds import SeenBuild

_HASH_PIECE_BYTES: Final = 1 << 20


class BuildFile:
    """An open file of the wanted build; `close` it."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self.size: Final = size

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at `offset`; fewer at the end. Raises OSError."""
        return os.pread(self._descriptor, size, offset) if 0 <= offset < self.size else b""

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)


def key_of(build_id: bytes, content_key: str) -> str:
    """The key of a build in `SeenBuilds`."""
    return build_id.hex() or content_key


def open_seen(key: str, seen: SeenBuild, pause: Callable[[], None]) -> BuildFile | None:
    """The file, through the process that ran it, else at its path; None: it is gone.

    `pause` is called between pieces of work.
    """
    for vma in _mappings(seen, key):
        for candidate in candidates(seen.pid, vma):
            file = BuildFile(candidate.descriptor, candidate.signature.size)
            if _is(file, key, pause):
                return file
            file.close()
    return None


def _mappings(seen: SeenBuild, key: str) -> Iterator[Vma]:
    """Yield mappings that may show the file: the process's at that path, then the path itself."""
    try:
        vmas = read_executable_maps(seen.pid)
    except (ProcessGone, AccessDenied):
        vmas = []
    for vma in vmas:
        if vma.has_file and (vma.path == seen.path or vma.build_id.hex() == key):
            yield vma
            break
    if seen.path.startswith("/"):
        yield Vma(0, 0, 0, seen.path, b"", (0, 0), 0, deleted=False)


def _is(file: BuildFile, key: str, pause: Callable[[], None]) -> bool:
    scheme, _, value = key.partition(":")
    try:
        if scheme == "sha256":
            return _sha256(file, pause) == value
        layout = read_layout(file.read)
    except (BadImage, OSError):
        return False
    return _named(layout) == key


def _named(layout: ElfLayout) -> str:
    return layout.build_id.hex() or "go:" + layout.go_build_id.decode("utf-8", "replace")


def _sha256(file: BuildFile, pause: Callable[[], None]) -> str:
    digest = hashlib.sha256()
    position = 0
    while piece := file.read(position, _HASH_PIECE_BYTES):
        digest.update(piece)
        position += len(piece)
        pause()
    return digest.hexdigest()
