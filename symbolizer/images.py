"""The images a process has at hand: found, opened, built, and remembered for a while."""

import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from fleetpb import capture_pb2
from storage.landing.resolved import Status
from symbolizer.build import Built, SymCaches
from symbolizer.elf import ElfFile
from symbolizer.elf_image import ElfImage
from symbolizer.errors import MalformedElf
from symbolizer.identity import ImageIdentity
from symbolizer.image import Image, KallsymsImage, UnknownImage
from symbolizer.kallsyms import Kallsyms
from symbolizer.kernel_identity import KernelIdentity
from symbolizer.sources import Found, Missing, SymbolSource
from symbolizer.symbol_table import NO_SYMBOLS, SymbolTable
from symbolizer.symtab import read_symbols

DEFAULT_CAPACITY: Final = 512
DEFAULT_RECHECK_S: Final = 600.0
MAX_KERNELS: Final = 8
"""Kernels whose symbols are kept: some 20 MB each."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    image: Image
    until: float


class Images:
    """Images by what a capture says of them. For one thread; others have their own.

    What is as good as it can be stays until the capacity needs its place; what is not is looked for
    again after `recheck_s`, since symbols may have been installed meanwhile.
    """

    def __init__(
        self,
        source: SymbolSource,
        caches: SymCaches,
        *,
        capacity: int = DEFAULT_CAPACITY,
        recheck_s: float = DEFAULT_RECHECK_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._caches = caches
        self._capacity = capacity
        self._recheck_s = recheck_s
        self._clock = clock
        self._known: OrderedDict[tuple[int, str, KernelIdentity | None], _Remembered] = OrderedDict()
        self._kernels: OrderedDict[KernelIdentity, tuple[Kallsyms | Missing, float]] = OrderedDict()

    def open(
        self, kind: "capture_pb2.Mapping.Kind", identity: ImageIdentity, kernel: KernelIdentity
    ) -> Image:
        """The image of a mapping; `kernel` is the one it ran under. Never raises."""
        owner = kernel if kind == capture_pb2.Mapping.MODULE else None
        key = (int(kind), identity.key, owner)
        known = self._known.get(key)
        if known is None or known.until <= self._clock():
            image = self._find(kind, identity, kernel)
            final = image.status == Status.FULL or (
                kind != capture_pb2.Mapping.FILE and image.status == Status.SYMTAB
            )
            known = _Remembered(image, float("inf") if final else self._clock() + self._recheck_s)
            self._known[key] = known
        self._known.move_to_end(key)
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)
        return known.image

    def _find(
        self, kind: "capture_pb2.Mapping.Kind", identity: ImageIdentity, kernel: KernelIdentity
    ) -> Image:
        if kind == capture_pb2.Mapping.FILE:
            return self._file(identity)
        if kind == capture_pb2.Mapping.VDSO:
            return self._vdso(identity)
        if kind == capture_pb2.Mapping.KERNEL:
            build_id = identity.build_id or kernel.build_id
            return self._kernel_part(KernelIdentity(build_id, kernel.modules), identity.name, None)
        return self._kernel_part(kernel, identity.name, identity.name.strip("[]"))

    def _file(self, identity: ImageIdentity) -> Image:
        with ExitStack() as opened:
            executable = self._source.executable(identity)
            if isinstance(executable, Found):
                opened.enter_context(executable.content)
            built = self._caches.find(identity.key) if identity.is_certain else None
            if isinstance(executable, Missing):
                if isinstance(built, Built):
                    return ElfImage(identity.name, built.segments, built.table, NO_SYMBOLS, "")
                return UnknownImage(executable.reason)
            debug = executable if executable.elf.has_dwarf else self._source.debug_file(identity, executable)
            if isinstance(debug, Found):
                opened.enter_context(debug.content)
            return self._assemble(identity, executable, debug, built if isinstance(built, Built) else None)

    def _assemble(
        self, identity: ImageIdentity, executable: Found, debug: Found | Missing, built: Built | None
    ) -> Image:
        """An image from the files at hand, which stay open until this returns."""
        try:
            segments = executable.elf.segment_map
            reason = ""
            if built is None:
                reason = debug.reason if isinstance(debug, Missing) else ""
                if isinstance(debug, Found) and debug.elf.has_dwarf:
                    outcome = self._caches.build(identity.key, debug, segments)
                    if isinstance(outcome, Built):
                        built = outcome
                    else:
                        reason = outcome.reason
                elif isinstance(debug, Found):
                    reason = f"{debug.origin} has symbols only."
        except MalformedElf as error:
            return UnknownImage(f"{executable.origin} cannot be used. {error}")
        symbols, why = _symbols(executable, debug)
        if built is None and isinstance(debug, Missing):
            if symbols.is_stripped:
                reason = why or f"It was stripped of its symbols. {reason}"
            elif not executable.elf.has_symbol_table:
                reason = f"It was stripped of all but the symbols it exports. {reason}"
        return ElfImage(identity.name, segments, built.table if built else None, symbols, reason)

    def _vdso(self, identity: ImageIdentity) -> Image:
        elf = self._source.vdso(identity)
        if isinstance(elf, Missing):
            return UnknownImage(elf.reason)
        try:
            return ElfImage(
                identity.name, elf.segment_map, None, read_symbols(elf), "The vdso has no debug data."
            )
        except MalformedElf as error:
            return UnknownImage(f"The vdso cannot be used. {error}")

    def _kernel_part(self, kernel: KernelIdentity, name: str, module: str | None) -> Image:
        symbols = self._kernel_symbols(kernel, module)
        if isinstance(symbols, Missing):
            return UnknownImage(symbols.reason)
        if module is None:
            return KallsymsImage(name, symbols.kernel)
        table = symbols.modules.get(module)
        return (
            KallsymsImage(name, table)
            if table
            else UnknownImage(f"The kernel does not name functions of {name}.")
        )

    def _kernel_symbols(self, kernel: KernelIdentity, module: str | None) -> Kallsyms | Missing:
        """Symbols of a kernel; read again after a while if they are missing, or the module's are."""
        known = self._kernels.get(kernel)
        if known is not None:
            symbols, read_at = known
            lacks = isinstance(symbols, Missing) or (module is not None and module not in symbols.modules)
            if not lacks or self._clock() < read_at + self._recheck_s:
                return symbols
        symbols = self._source.kernel(kernel)
        self._kernels[kernel] = symbols, self._clock()
        while len(self._kernels) > MAX_KERNELS:
            self._kernels.popitem(last=False)
        return symbols


def _symbols(executable: Found, debug: Found | Missing) -> tuple[SymbolTable, str]:
    """The union of both files' symbols; without the debug file's if those are broken."""
    files: list[ElfFile] = [executable.elf]
    if isinstance(debug, Found) and debug is not executable:
        files.append(debug.elf)
    try:
        return read_symbols(*files), ""
    except MalformedElf as error:
        return NO_SYMBOLS, f"{executable.origin}: its symbols cannot be used. {error}"
