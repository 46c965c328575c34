"""Combines all sources of symbols: the best candidate of all is used, not the first.

The order is uploads, this machine, debuginfod servers: local sources before those that require a
download. The search ends at DWARF, the best quality. Uploads come first because they are deliberate:
of two equally good files the uploaded one is used.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Engine

from storage.archive import Archive
from storage.symbols.kinds import Quality
from symbolizer.dwarf.units import DwarfUnit
from symbolizer.elf.file import ElfFile
from symbolizer.elf.links import AltLink
from symbolizer.identity import ImageIdentity
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms
from symbolizer.sources import download_folder
from symbolizer.sources.debuginfod import Debuginfod
from symbolizer.sources.debuginfod_client import (
    DEFAULT_BYTES,
    DebuginfodClient,
    DownloadLimits,
    clients,
)
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.sources.joined_source import JoinedSource
from symbolizer.sources.joining.joiner import Joiner
from symbolizer.sources.kernel_table_store import KernelTableStore
from symbolizer.sources.local_files import DEBUG_ROOTS, LocalFiles
from symbolizer.sources.negative_cache import StoredNegativeCache
from symbolizer.sources.source import Found, Missing, SymbolSource
from symbolizer.sources.symbol_store_source import Uploaded


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """Places with symbols, and limits of their use."""

    cache_dir: Path
    """Contains the folder of this machine's copies."""
    debug_roots: tuple[Path, ...] = DEBUG_ROOTS
    debuginfod_urls: tuple[str, ...] = ()
    download_bytes: int = DEFAULT_BYTES
    """Limit of one file."""
    copies_bytes: int = download_folder.DEFAULT_LIMIT_BYTES
    """Limit of all copies on this machine."""
    more: tuple[SymbolSource, ...] = field(default=())
    """Searched before any server."""


def make_sources(
    places: SourceSettings,
    engine: Engine,
    archive: Archive,
    *,
    request_build: Callable[[ImageIdentity], None] | None = None,
) -> "JoinedSource":
    """The sources of a worker. Raises ValueError for an invalid debuginfod URL.

    `request_build` as for `JoinedSource`: a function during ingestion, None during builds.
    """
    folder = _folder(places)
    local = LocalFiles(debug_roots=places.debug_roots, keep=KernelTableStore(engine, archive))
    near: list[SymbolSource] = [Uploaded(engine, archive, folder), local, *places.more]
    servers = clients(places.debuginfod_urls, DownloadLimits(bytes=places.download_bytes))
    chain = Chain(near, far=_far(servers, engine, folder))
    return JoinedSource(chain, Joiner(folder), request_build=request_build)


def make_chain(
    places: SourceSettings, engine: Engine, archive: Archive, servers: Sequence[DebuginfodClient]
) -> "Chain":
    """The sources of a reader of single files: nothing is joined, and no kernel table is stored."""
    folder = _folder(places)
    local = LocalFiles(debug_roots=places.debug_roots)
    near: list[SymbolSource] = [Uploaded(engine, archive, folder), local, *places.more]
    return Chain(near, far=_far(servers, engine, folder))


def _folder(places: SourceSettings) -> DownloadFolder:
    return DownloadFolder(places.cache_dir / "downloads", limit_bytes=places.copies_bytes)


def _far(
    servers: Sequence[DebuginfodClient], engine: Engine, folder: DownloadFolder
) -> Sequence[SymbolSource]:
    return (Debuginfod(servers, StoredNegativeCache(engine), folder),) if servers else ()


class Chain:
    """Several sources as a `SymbolSource`."""

    def __init__(self, sources: Sequence[SymbolSource], *, far: Sequence[SymbolSource] = ()) -> None:
        """`far` are sources that require a download: used last, and for an image only if no other source has it."""
        self._near = tuple(sources)
        self._far = tuple(far)
        self._sources = (*self._near, *self._far)

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        """The local image with the best symbols, else the first that can be fetched."""
        near = self._best(lambda source: source.executable(identity), self._near, Quality.DWARF)
        if isinstance(near, Found) or not self._far:
            return near
        far = self._best(lambda source: source.executable(identity), self._far, Quality.NONE)
        return far if isinstance(far, Found) else Missing(_joined([near.reason, far.reason]))

    def executables(self, identity: ImageIdentity) -> Iterator[Found | Missing]:
        """What each source has as the image; a later source is asked only on iteration. The caller closes the files."""
        return (source.executable(identity) for source in self._sources)

    def debug_file(self, identity: ImageIdentity, executable: Found | None) -> Found | Missing:
        """The best file with more symbols than the executable."""
        return self._best(
            lambda source: source.debug_file(identity, executable), self._sources, Quality.DWARF
        )

    def alternate(self, link: AltLink, debug: Found) -> Found | Missing:
        """The first file: its build-id identifies it."""
        return self._best(lambda source: source.alternate(link, debug), self._sources, Quality.NONE)

    def split_files(
        self, identity: ImageIdentity, debug: Found, units: Sequence[DwarfUnit]
    ) -> tuple[Found, ...]:
        """The files of the first source that has any."""
        return next(
            (files for source in self._sources if (files := source.split_files(identity, debug, units))), ()
        )

    def kernel(self, kernel: KernelIdentity) -> Kallsyms | Missing:
        """The symbols that cover most of the kernel's modules; the first of equals."""
        best: Kallsyms | None = None
        missing: list[str] = []
        for source in self._sources:
            symbols = source.kernel(kernel)
            if isinstance(symbols, Missing):
                missing.append(symbols.reason)
            elif best is None or len(symbols.modules) > len(best.modules):
                best = symbols
            if best is not None and len(best.modules) >= len(kernel.modules):
                break
        return best or Missing(_joined(missing))

    def vdso(self, identity: ImageIdentity) -> ElfFile | Missing:
        """The first image: its build-id identifies it."""
        missing = []
        for source in self._sources:
            elf = source.vdso(identity)
            if isinstance(elf, ElfFile):
                return elf
            missing.append(elf.reason)
        return Missing(_joined(missing))

    @staticmethod
    def _best(
        ask: Callable[[SymbolSource], Found | Missing], sources: Sequence[SymbolSource], enough: Quality
    ) -> Found | Missing:
        """The best candidate; one of quality `enough` ends the search."""
        best: Found | None = None
        quality = Quality.NONE
        missing: list[str] = []
        for source in sources:
            try:
                found = ask(source)
            except BaseException:
                if best is not None:
                    best.content.close()
                raise
            if isinstance(found, Missing):
                missing.append(found.reason)
                continue
            if best is None or found.quality > quality:
                if best is not None:
                    best.content.close()
                best, quality = found, found.quality
            else:
                found.content.close()
            if quality >= enough:
                break
        return best or Missing(_joined(missing))


def _joined(reasons: Sequence[str]) -> str:
    """The reasons as one text, without repetition."""
    return " ".join(dict.fromkeys(reasons)) or "No source of symbols is configured."
