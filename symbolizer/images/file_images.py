"""Images that have an ELF file: from built symbols, or from the files of a source."""

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Final

from storage.symbols.kinds import Quality
from symbolizer.builds.build import build_input
from symbolizer.builds.outcome import Built, NotBuilt
from symbolizer.builds.symcaches import PENDING, SymCaches
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import MalformedElf
from symbolizer.identity import ImageIdentity
from symbolizer.images.elf_image import ElfImage
from symbolizer.images.image import NO_MEMORY, Image, UnknownImage
from symbolizer.kernel.module_file import as_loaded, is_module
from symbolizer.sources.layout import layout_of
from symbolizer.sources.source import Found, Missing, SymbolSource
from symbolizer.tables.symbol_table import NO_SYMBOLS, SymbolTable

log = logging.getLogger(__name__)

AT_ONCE_S: Final = 3.0
"""Builds up to this many CPU seconds run during ingestion; larger ones in tasks of their own."""
_PATIENCE: Final = 4.0
"""A small file's build by another process is waited for this many times its estimated duration."""


class FileImages:
    """Opens images; caches none. For one thread."""

    def __init__(
        self,
        source: SymbolSource,
        caches: SymCaches,
        *,
        request_build: Callable[[ImageIdentity], None] | None = None,
        at_once_s: float = AT_ONCE_S,
    ) -> None:
        """`request_build` and `at_once_s` as for `Images`."""
        self._source = source
        self._caches = caches
        self._wants_build = request_build
        self._at_once_s = at_once_s

    def is_built(self, identity: ImageIdentity) -> bool:
        """Whether built symbols exist that are not outdated."""
        built = self._built(identity)
        return isinstance(built, Built) and not built.entry.outdated

    def open(self, identity: ImageIdentity) -> Image:
        """The image. The state of files and disks raises nothing; errors of the source and the store do."""
        built = self._built(identity) if identity.is_certain else None
        if isinstance(built, Built) and not built.entry.outdated:
            return self._from_built(identity, built)
        try:
            return self._open(identity, built)
        except MemoryError:
            log.warning("symbols not read: binary=%s why=no memory", identity.key)
            return self._from_built(identity, built) if isinstance(built, Built) else UnknownImage(NO_MEMORY)

    def _open(self, identity: ImageIdentity, built: Built | NotBuilt | None) -> Image:
        with ExitStack() as opened:
            executable = self._source.executable(identity)
            if isinstance(executable, Found):
                opened.enter_context(executable.content)
                if executable.quality == Quality.DWARF:
                    return self._assemble(identity, executable, executable, built)
            at_hand = executable if isinstance(executable, Found) else None
            debug = self._source.debug_file(identity, at_hand)
            if isinstance(debug, Found):
                opened.enter_context(debug.content)
            return self._assemble(identity, executable, debug, built)

    def _built(self, identity: ImageIdentity) -> Built | NotBuilt | None:
        try:
            return self._caches.find(identity.key)
        except OSError as error:
            return _no_place(error)

    def _from_built(self, identity: ImageIdentity, built: Built, reason: str = "") -> Image:
        symbols = built.symbols
        return ElfImage(
            identity.name,
            symbols.segments,
            symbols.table,
            symbols.symbols,
            reason,
            base=symbols.base,
            repaired=lambda: self._repaired(identity, built),
        )

    def _repaired(self, identity: ImageIdentity, built: Built) -> Image:
        self._caches.damaged(built)
        return self.open(identity)

    def _assemble(
        self,
        identity: ImageIdentity,
        executable: Found | Missing,
        debug: Found | Missing,
        known: Built | NotBuilt | None,
    ) -> Image:
        """An image from the available files, which stay open until this returns."""
        at_hand = executable if isinstance(executable, Found) else None
        reason = (
            debug.reason
            if isinstance(debug, Missing)
            else (f"{debug.origin} has symbols, but no debug data.")
        )
        if isinstance(debug, Found) and debug.quality == Quality.DWARF:
            outcome = self._build(identity, debug, at_hand, known)
            if isinstance(outcome, Built):
                return self._from_built(identity, outcome)
            if outcome.rejected:
                return self.open(identity)
            reason = outcome.reason
            if isinstance(known, Built):
                return self._from_built(identity, known, reason if outcome.pending else "")
        elif isinstance(known, Built):
            return self._from_built(identity, known)
        elif isinstance(executable, Missing):
            reason = executable.reason
        return self._by_symbols(identity, [f for f in (executable, debug) if isinstance(f, Found)], reason)

    def _build(
        self,
        identity: ImageIdentity,
        debug: Found,
        executable: Found | None,
        known: Built | NotBuilt | None,
    ) -> Built | NotBuilt:
        """Build small files at once and request builds of the others, unless that failed recently."""
        if debug.incomplete:
            return known if isinstance(known, NotBuilt) else PENDING
        try:
            source = build_input(debug, executable)
        except MalformedElf as error:
            return NotBuilt(f"{debug.origin} is unusable. {error}")
        if self._wants_build is None or source.size.seconds <= self._at_once_s:
            try:
                return self._caches.build(identity.key, source, wait_s=_PATIENCE * self._at_once_s)
            except OSError as error:
                return _no_place(error)
        try:
            of_it = self._caches.known(identity.key, source)
        except OSError as error:
            return _no_place(error)
        if of_it is not None:
            return of_it
        if isinstance(known, NotBuilt) and not known.until:  # a built file could not be stored
            return known
        self._wants_build(identity)
        return PENDING

    def _by_symbols(self, identity: ImageIdentity, files: Sequence[Found], reason: str) -> Image:
        """An image by the symbol tables of the files: the executable, its debug file, or both."""
        distinct = list({id(found): found for found in files}.values())
        if not distinct:
            return UnknownImage(reason)
        try:
            elves = [ElfFile(as_loaded(f.elf, debug=False)) if is_module(f.elf) else f.elf for f in distinct]
        except MalformedElf as error:
            return UnknownImage(f"{distinct[0].origin} is unusable. {error}")
        segments = layout_of(elves[0])
        if isinstance(segments, Missing):
            return UnknownImage(f"{distinct[0].origin} is unusable. {segments.reason}")
        symbols, why = _symbols(elves, distinct[0].origin)
        if symbols.is_stripped:
            reason = why or f"It was stripped of its symbols. {reason}"
        elif len(distinct) == 1 and not distinct[0].elf.has_symbol_table:
            reason = f"It was stripped of all symbols except exported ones. {reason}"
        return ElfImage(identity.name, segments, None, symbols, reason)


def _no_place(error: OSError) -> NotBuilt:
    """A full or read-only disk costs frames their lines and is logged; captures are ingested all the same."""
    log.warning("built symbols not stored: why=%s", error)
    return NotBuilt(f"This worker cannot store built symbols: {error.strerror or error}.")


def _symbols(files: Sequence[ElfFile], origin: str) -> tuple[SymbolTable, str]:
    """The union of the files' symbols; none, with the reason, if one is broken."""
    try:
        return read_symbols(*files), ""
    except MalformedElf as error:
        return NO_SYMBOLS, f"{origin}: its symbols are unusable. {error}"
