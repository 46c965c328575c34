"""The builder's work within its limits: writes SymCache, symbol table and segments into one file."""

import errno
from pathlib import Path
from typing import TYPE_CHECKING, Final

from symbolic.debuginfo import Archive
from symbolic.exceptions import SymbolicError

from symbolizer.builds.built_symbols import write_built_symbols
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import MalformedElf, MalformedSymCache
from symbolizer.files import OpenedFile
from symbolizer.kernel.module_file import as_loaded, is_module
from symbolizer.sources.layout import layout_of
from symbolizer.sources.source import Missing
from symbolizer.tables.symbol_table import NO_SYMBOLS, SymbolTable

if TYPE_CHECKING:
    from symbolizer.builds.child import Request


_NO_MEMORY: Final = f"os error {errno.ENOMEM}"
"""`symbolic`'s error text when a file could not be mapped within the limits."""


class NotBuildable(Exception):
    """Symbols cannot be built from the files; the text is the reason."""


class Unusable(NotBuildable):
    """The debug data itself cannot be read, whatever file completes it."""


def build(request: "Request") -> None:
    """Write `request.output`. Raises `NotBuildable`, `Unusable`, OSError, MemoryError."""
    paths = [
        Path(f"/proc/self/fd/{descriptor}")
        for descriptor in (request.debug, request.executable)
        if descriptor is not None
    ]
    try:
        files = [ElfFile(OpenedFile(path)) for path in paths]
        module = as_loaded(files[0]) if is_module(files[0]) else None
        files = [ElfFile(as_loaded(file, debug=False)) if is_module(file) else file for file in files]
        segments = layout_of(files[-1])
        if isinstance(segments, Missing):
            raise NotBuildable(segments.reason)
    except MalformedElf as error:
        raise NotBuildable(str(error)) from error
    try:
        archive = Archive.open(str(paths[0])) if module is None else Archive.from_bytes(module)
        symcache = next(archive.iter_objects()).make_symcache()
    except (SymbolicError, StopIteration, LookupError) as error:
        if _NO_MEMORY in str(error):
            raise MemoryError(str(error)) from error
        raise Unusable(str(error) or "it contains no object") from error
    try:
        with Path(request.output).open("r+b") as file:
            # `symbolic` counts from the debug file's first segment; tools that patch executables (patchelf)
            # put a segment of their own before the executable's.
            base = files[0].segment_map.base
            write_built_symbols(file, symcache, _symbols(files), segments, request.origin, base=base)
    except MalformedSymCache as error:
        raise NotBuildable(str(error)) from error


def _symbols(files: list[ElfFile]) -> SymbolTable:
    """The union of all files' symbols; none if they are broken, because lines do not need them."""
    try:
        return read_symbols(*reversed(files))
    except MalformedElf:
        return NO_SYMBOLS
