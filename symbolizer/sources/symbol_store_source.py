"""The fleet's store of symbol files as a `SymbolSource`: files uploaded by people and builds, and sent by gateways.

A binary's candidates are ranked by quality, without those that proved unusable. A file is fetched from the
archive once per machine, and its SHA-256 is verified at each fetch.
"""

import logging
from collections.abc import Collection, Iterable, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import Final

from sqlalchemy import Engine

from storage.archive import Archive
from storage.errors import BlobMissing
from storage.symbols import candidates
from storage.symbols.candidates import DebugFile
from storage.symbols.errors import BlobDamaged
from storage.symbols.kinds import FileKind, Quality
from symbolizer.dwarf.units import DwarfUnit
from symbolizer.elf.file import ElfFile
from symbolizer.elf.links import AltLink
from symbolizer.errors import MalformedElf, MalformedImage
from symbolizer.files import OpenedFile
from symbolizer.identity import ImageIdentity
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms, kallsyms_of
from symbolizer.sources.download_folder import DownloadFolder, no_copy
from symbolizer.sources.kernel_tables import KernelTables
from symbolizer.sources.opened_elf import as_elf
from symbolizer.sources.running_kernel import MAX_VDSO_BYTES
from symbolizer.sources.source import MAX_SPLIT_FILES, Found, Missing

log = logging.getLogger(__name__)

_ELF_KINDS: Final = (FileKind.EXECUTABLE, FileKind.DEBUGINFO, FileKind.SYMBOLS)
_NONE: Final = Missing("It was not uploaded.")
_HEX: Final = frozenset("0123456789abcdef")


class Uploaded:
    """The store; holds connections only during queries."""

    def __init__(self, engine: Engine, archive: Archive, folder: DownloadFolder) -> None:
        self._engine = engine
        self._archive = archive
        self._folder = folder
        self._tables = KernelTables(self._fetched)

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        """The best uploaded image of this key, or a gateway's symbols for it: both contain its segments."""
        if not identity.is_certain:
            return _NONE
        found = self._first(self._ranked(identity.key, (FileKind.EXECUTABLE,)), identity.key)
        if isinstance(found, Found):
            return found
        symbols = self._first(self._ranked(identity.key, (FileKind.SYMBOLS,)), identity.key)
        if isinstance(symbols, Found) and symbols.elf.has_layout:
            return symbols
        if isinstance(symbols, Found):
            symbols.content.close()
        return found

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        """The best candidate with more symbols than the executable; matched by checksum if there is no build-id."""
        if not identity.is_certain:
            return _NONE
        files = self._ranked(identity.key, _ELF_KINDS)
        if executable is not None and not identity.build_id:
            files += self._ranked(_linked_key(executable), (FileKind.DEBUGINFO, FileKind.SYMBOLS))
            files.sort(key=lambda file: -file.quality)
        least = executable.quality if executable is not None else Quality.NONE
        return self._first([file for file in files if file.quality > least], identity.key)

    def alternate(self, link: AltLink, debug: Found) -> Found | Missing:  # noqa: ARG002 - of the protocol
        """The uploaded file with the link's build-id."""
        key = link.build_id.hex()
        return self._first(self._ranked(key, (FileKind.ALTLINK, FileKind.DEBUGINFO)) if key else [], key)

    def split_files(
        self,
        identity: ImageIdentity,
        debug: Found,  # noqa: ARG002 - of the protocol
        units: Sequence[DwarfUnit],
    ) -> tuple[Found, ...]:
        """A package of the binary or of its lowest id; else the .dwo file of each id, if available."""
        ids = sorted({unit.dwo_id for unit in units if unit.dwo_id is not None})
        if not ids:
            return ()
        package = self._ranked(f"dwp:{ids[0]:016x}", (FileKind.SPLIT,))
        of_binary = self._ranked(identity.key, (FileKind.SPLIT,))
        files: Iterable[DebugFile] = package or of_binary
        if not files:
            rows = (self._ranked(f"dwo:{split_id:016x}", (FileKind.SPLIT,)) for split_id in ids)
            files = (best[0] for best in rows if best)
        return self._opened(islice(files, MAX_SPLIT_FILES))

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        """A kernel table, preferably with the same modules; else an uploaded vmlinux."""
        files = self._ranked(kernel.build_id.hex(), (FileKind.KALLSYMS,)) if kernel.build_id else []
        return self._tables.find(kernel, files) or self._vmlinux(kernel)

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        """An uploaded vdso image."""
        found = self.executable(identity)
        if isinstance(found, Missing):
            return found
        with found.content as content:  # a few pages: kept in memory, so the file can be closed
            try:
                return ElfFile(content[0 : len(content)]) if len(content) <= MAX_VDSO_BYTES else _NONE
            except MalformedElf as error:
                return Missing(f"The uploaded vdso is unusable. {error}")

    def _vmlinux(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        files = self._ranked(kernel.build_id.hex(), _ELF_KINDS) if kernel.build_id else []
        found = self._first(files, kernel.build_id.hex())
        if isinstance(found, Missing):
            return found
        with found.content:
            try:
                return kallsyms_of(found.elf)
            except MalformedImage as error:
                return Missing(f"{found.origin} is unusable. {error}")

    def _ranked(self, key: str, kinds: Collection[FileKind]) -> list[DebugFile]:
        if not key:
            return []
        with self._engine.connect() as connection:
            return candidates.ranked(connection, key, kinds=kinds)

    def _first(self, files: list[DebugFile], key: str) -> Found | Missing:
        """The first file that can be opened and is of the build."""
        missing = _NONE
        for found in (self._open(file) for file in files):
            if isinstance(found, Missing):
                missing = found
            elif found.elf.build_id and found.elf.build_id.hex() != key and _is_hex(key):
                found.content.close()
                missing = Missing(f"{found.origin} is from another build.")
            else:
                return found
        return missing

    def _opened(self, files: Iterable[DebugFile]) -> tuple[Found, ...]:
        """The files that can be opened; all are closed if the store fails in between."""
        with ExitStack() as closing:
            opened = []
            for found in map(self._open, files):
                if isinstance(found, Found):
                    closing.enter_context(found.content)
                    opened.append(found)
            closing.pop_all()
        return tuple(opened)

    def _open(self, file: DebugFile) -> Found | Missing:
        content = self._fetched(file)
        if isinstance(content, Missing):
            return content
        name = f" of {file.name}" if file.name else ""
        return as_elf(content, f"the {file.origin}{name} ({file.sha256.hex()[:12]})", file.sha256)

    def _fetched(self, file: DebugFile) -> OpenedFile | Missing:
        try:
            content = self._folder.obtain(
                file.sha256.hex(), lambda path: candidates.fetch(self._archive, file, path)
            )
        except (BlobMissing, BlobDamaged) as error:
            log.warning("not used: upload of %s, %s", file.binary_key, error)
            return Missing(f"The upload of {file.name or file.binary_key} is lost. {error}")
        except OSError as error:
            log.warning("not used: upload of %s, %s", file.binary_key, error)
            return Missing(no_copy(f"the upload of {file.name or file.binary_key}", error))
        with ExitStack() as closing:
            closing.enter_context(content)
            with self._engine.begin() as connection:
                candidates.touch(connection, file)
            closing.pop_all()
        return content


def _linked_key(executable: Found) -> str:
    """Key of the debug file in an executable's .gnu_debuglink; '' if it has none."""
    try:
        link = executable.elf.debug_link
    except MalformedElf:
        return ""
    return f"crc32:{link.crc32:08x}" if link else ""


def _is_hex(key: str) -> bool:
    return _HEX.issuperset(key)
