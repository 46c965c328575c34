"""The images a process has at hand: found, opened, built, and remembered for a while."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from fleetpb import capture_pb2
from storage.landing.resolved import Status
from storage.symbols.kinds import Quality
from symbolizer.build import build_input
from symbolizer.build_outcome import Built, NotBuilt
from symbolizer.elf import ElfFile
from symbolizer.elf_image import ElfImage
from symbolizer.errors import MalformedElf
from symbolizer.identity import ImageIdentity
from symbolizer.image import Image, KallsymsImage, UnknownImage
from symbolizer.kallsyms import Kallsyms
from symbolizer.kernel_identity import KernelIdentity
from symbolizer.layout import layout_of
from symbolizer.module_file import as_loaded, is_module
from symbolizer.sources import Found, Missing, SymbolSource
from symbolizer.symbol_table import NO_SYMBOLS, SymbolTable
from symbolizer.symcaches import PENDING, SymCaches
from symbolizer.symtab import read_symbols

log = logging.getLogger(__name__)

DEFAULT_CAPACITY: Final = 512
DEFAULT_RECHECK_S: Final = 600.0
AT_ONCE_S: Final = 3.0
"""What is built within so many CPU seconds is built while a capture lands; larger files by a task of their own."""
_PATIENCE: Final = 4.0
"""Somebody else's build of a small file is waited for this many times as long as it may take."""
MAX_NAMES: Final = 400_000
"""Names that all images together remember: some 120 MB."""
_COUNT_EVERY: Final = 512
MAX_KERNELS: Final = 8
"""Kernels whose symbols are kept: some 20 MB each."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    image: Image
    until: float
    pending: bool
    """Its symbols are being built; whether they are there now is asked every time."""


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
        names: int = MAX_NAMES,
        recheck_s: float = DEFAULT_RECHECK_S,
        wants_build: Callable[[ImageIdentity], None] | None = None,
        at_once_s: float = AT_ONCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`wants_build` is told of a binary whose symbols take longer than `at_once_s` to build.

        It is told again every `recheck_s` until they are there. None: everything is built at once.
        """
        self._source = source
        self._caches = caches
        self._capacity = capacity
        self._names = names
        self._recheck_s = recheck_s
        self._wants_build = wants_build
        self._at_once_s = at_once_s
        self._clock = clock
        self._known: OrderedDict[tuple[int, str, KernelIdentity | None], _Remembered] = OrderedDict()
        self._opened = 0
        self._kernels: OrderedDict[KernelIdentity, tuple[Kallsyms | Missing, float]] = OrderedDict()

    def open(
        self, kind: "capture_pb2.Mapping.Kind", identity: ImageIdentity, kernel: KernelIdentity
    ) -> Image:
        """The image of a mapping; `kernel` is the one it ran under. Never raises."""
        # A module without a build-id is known only together with the kernel and what else is loaded.
        owner = kernel if kind == capture_pb2.Mapping.MODULE and not identity.build_id else None
        key = (int(kind), identity.key, owner)
        known = self._known.get(key)
        if known is None or known.until <= self._clock() or self._is_better_now(known, identity):
            image = self._find(kind, identity, kernel)
            pending = image.reason.endswith(PENDING.reason)
            final = image.status == Status.FULL or (
                kind == capture_pb2.Mapping.VDSO and image.status == Status.SYMTAB
            )
            until = float("inf") if final and not pending else self._clock() + self._recheck_s
            known = _Remembered(image, until, pending)
            self._known[key] = known
        self._known.move_to_end(key)
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)
        self._opened += 1
        if self._opened % _COUNT_EVERY == 0:
            self._forget_names()
        return known.image

    def _forget_names(self) -> None:
        """Those of the images that were not asked for the longest time, down to half, when they are too many."""
        held = [known.image.names_held for known in self._known.values()]
        left = sum(held)
        if left <= self._names:
            return
        for known, names in zip(self._known.values(), held, strict=True):
            if left <= self._names // 2:
                return
            known.image.forget_names()
            left -= names

    def forget(self, binary_key: str) -> None:
        """Look for the image of a binary anew when it is next asked for: it has other symbols now."""
        for key in [key for key in self._known if key[1] == binary_key]:
            del self._known[key]
        for kernel in [kernel for kernel in self._kernels if binary_key in kernel.keys]:
            del self._kernels[kernel]

    def _is_better_now(self, known: _Remembered, identity: ImageIdentity) -> bool:
        """Whether what was pending is built, so that what is landed again for it finds it at once."""
        if not known.pending:
            return False
        built = self._built(identity)
        return isinstance(built, Built) and not built.entry.outdated

    def _find(
        self, kind: "capture_pb2.Mapping.Kind", identity: ImageIdentity, kernel: KernelIdentity
    ) -> Image:
        if kind == capture_pb2.Mapping.FILE:
            return self._file(identity)
        if kind == capture_pb2.Mapping.VDSO:
            return self._vdso(identity)
        # Its own file says more than the kernel does of itself: lines and inlined calls, if it has debug data.
        by_file = self._file(identity) if identity.build_id else None
        if by_file is not None and by_file.status >= Status.SYMTAB:
            return by_file
        if kind == capture_pb2.Mapping.KERNEL:
            build_id = identity.build_id or kernel.build_id
            return self._kernel_part(KernelIdentity(build_id, kernel.modules), identity.name, None)
        return self._kernel_part(kernel, identity.name, identity.name.strip("[]"))

    def _file(self, identity: ImageIdentity) -> Image:
        built = self._built(identity) if identity.is_certain else None
        if isinstance(built, Built) and not built.entry.outdated:
            return self._from_built(identity, built)
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
            repaired=lambda: self._repaired(identity, built),
        )

    def _repaired(self, identity: ImageIdentity, built: Built) -> Image:
        self._caches.damaged(built)
        return self._file(identity)

    def _assemble(
        self,
        identity: ImageIdentity,
        executable: Found | Missing,
        debug: Found | Missing,
        known: Built | NotBuilt | None,
    ) -> Image:
        """An image from the files at hand, which stay open until this returns."""
        at_hand = executable if isinstance(executable, Found) else None
        reason = debug.reason if isinstance(debug, Missing) else f"{debug.origin} has symbols only."
        if isinstance(debug, Found) and debug.quality == Quality.DWARF:
            outcome = self._build(identity, debug, at_hand, known)
            if isinstance(outcome, Built):
                return self._from_built(identity, outcome)
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
        """Build at once what takes a moment; let the rest be built, unless that failed lately."""
        try:
            source = build_input(debug, executable)
        except MalformedElf as error:
            return NotBuilt(f"{debug.origin} cannot be used. {error}")
        if self._wants_build is None or source.size.seconds <= self._at_once_s:
            try:
                return self._caches.build(identity.key, source, wait_s=_PATIENCE * self._at_once_s)
            except OSError as error:
                return _no_place(error)
        if isinstance(known, NotBuilt):
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
            return UnknownImage(f"{distinct[0].origin} cannot be used. {error}")
        segments = layout_of(elves[0])
        if isinstance(segments, Missing):
            return UnknownImage(f"{distinct[0].origin} cannot be used. {segments.reason}")
        symbols, why = _symbols(elves, distinct[0].origin)
        if symbols.is_stripped:
            reason = why or f"It was stripped of its symbols. {reason}"
        elif len(distinct) == 1 and not distinct[0].elf.has_symbol_table:
            reason = f"It was stripped of all but the symbols it exports. {reason}"
        return ElfImage(identity.name, segments, None, symbols, reason)

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


def _no_place(error: OSError) -> NotBuilt:
    """A full or read-only disk costs frames their lines, and is said; captures land all the same."""
    log.warning("symbols not kept: why=%s", error)
    return NotBuilt(f"This worker cannot keep built symbols: {error.strerror or error}.")


def _symbols(files: Sequence[ElfFile], origin: str) -> tuple[SymbolTable, str]:
    """The union of the files' symbols; none, with the reason, if one is broken."""
    try:
        return read_symbols(*files), ""
    except MalformedElf as error:
        return NO_SYMBOLS, f"{origin}: its symbols cannot be used. {error}"
