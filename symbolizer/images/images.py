"""A process's cache of images: finds, opens and builds them."""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from fleetpb import capture_pb2
from storage.ingest.symbolized import Status
from symbolizer.builds.symcaches import PENDING, SymCaches
from symbolizer.cache_eviction import evict_oldest
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import MalformedElf
from symbolizer.identity import ImageIdentity
from symbolizer.images.elf_image import ElfImage
from symbolizer.images.file_images import AT_ONCE_S, FileImages
from symbolizer.images.image import NO_MEMORY, Image, KallsymsImage, UnknownImage
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms
from symbolizer.sources.source import Missing, SymbolSource

log = logging.getLogger(__name__)

DEFAULT_CAPACITY: Final = 512
DEFAULT_RECHECK_S: Final = 600.0
MAX_NAMES: Final = 400_000
"""Names that all images together cache: some 120 MB."""
MAX_SYMBOL_BYTES: Final = 128 << 20
"""Memory for the symbol tables of all images but the newest. Built symbols are mapped files and do not count."""
_COUNT_EVERY: Final = 512
MAX_KERNELS: Final = 8
"""Kernels whose symbols are cached: some 20 MB each."""
MAX_KERNEL_BYTES: Final = 256 << 20
"""Memory for the symbols of all kernels but the newest; most share their tables."""


@dataclass(frozen=True, slots=True)
class _CachedImage:
    image: Image
    until: float
    pending: bool
    """Its symbols are being built; every `open` checks whether they are ready."""


class Images:
    """Images by their identity in captures. For one thread; other threads need their own instance.

    An image with the best possible symbols stays until it is evicted. Other images are looked up
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
        request_build: Callable[[ImageIdentity], None] | None = None,
        at_once_s: float = AT_ONCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`request_build` is called with a binary whose symbols take longer than `at_once_s` to build.

        It is called again every `recheck_s` until they are ready. None: everything is built at once.
        """
        self._source = source
        self._files = FileImages(source, caches, request_build=request_build, at_once_s=at_once_s)
        self._capacity = capacity
        self._names = names
        self._recheck_s = recheck_s
        self._clock = clock
        self._known: OrderedDict[tuple[int, str, KernelIdentity | None], _CachedImage] = OrderedDict()
        self._opened = 0
        self._kernels: OrderedDict[KernelIdentity, tuple[Kallsyms | Missing, float]] = OrderedDict()

    def open(
        self, kind: "capture_pb2.Mapping.Kind", identity: ImageIdentity, kernel: KernelIdentity
    ) -> Image:
        """The image of a mapping; `kernel` is the one that was running.

        Raises the errors of the source and the store. Files that exceed the available memory have no names.
        """
        # A module without a build-id is identified only together with the kernel and the other loaded modules.
        owner = kernel if kind == capture_pb2.Mapping.MODULE and not identity.build_id else None
        key = (int(kind), identity.key, owner)
        known = self._known.get(key)
        if known is None or known.until <= self._clock() or self._is_better_now(known, identity):
            self._known.pop(key, None)  # frees its tables before the new ones are read
            try:
                image = self._find(kind, identity, kernel)
            except MemoryError:
                log.warning("symbols not read: binary=%s why=no memory", identity.key)
                image = UnknownImage(NO_MEMORY)
            pending = image.reason.endswith(PENDING.reason)
            final = image.status == Status.FULL or (
                kind == capture_pb2.Mapping.VDSO and image.status == Status.SYMTAB
            )
            until = float("inf") if final and not pending else self._clock() + self._recheck_s
            known = _CachedImage(image, until, pending)
            self._known[key] = known
            self._forget_images()
        self._known.move_to_end(key)
        self._opened += 1
        if self._opened % _COUNT_EVERY == 0:
            self._forget_names()
        return known.image

    def _forget_images(self) -> None:
        """Evict the least recently used images, and the largest tables, so that one file does not evict all others."""
        while len(self._known) > self._capacity:
            self._known.popitem(last=False)
        older = [(known.image.memory_bytes, key) for key, known in self._known.items()][:-1]
        held = sum(size for size, _ in older)
        for size, key in sorted(older, key=itemgetter(0), reverse=True):
            if held <= MAX_SYMBOL_BYTES:
                return
            held -= size
            del self._known[key]

    def _forget_names(self) -> None:
        """If there are too many names, clear those of the least recently used images, down to half."""
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
        """Look up a binary's image again on its next use: its symbols have changed."""
        for key in [key for key in self._known if key[1] == binary_key or _is_of(key[2], binary_key)]:
            del self._known[key]
        for kernel in [kernel for kernel in self._kernels if _is_of(kernel, binary_key)]:
            del self._kernels[kernel]

    def _is_better_now(self, known: _CachedImage, identity: ImageIdentity) -> bool:
        """Whether pending symbols are built now, so that a capture reprocessed for them finds them at once."""
        return known.pending and self._files.is_built(identity)

    def _find(
        self, kind: "capture_pb2.Mapping.Kind", identity: ImageIdentity, kernel: KernelIdentity
    ) -> Image:
        if kind == capture_pb2.Mapping.FILE:
            return self._files.open(identity)
        if kind == capture_pb2.Mapping.VDSO:
            return self._vdso(identity)
        # Its own file has more than kallsyms: lines and inlined calls, if it has debug data.
        by_file = self._files.open(identity) if identity.build_id else None
        if by_file is not None and by_file.status >= Status.SYMTAB:
            return by_file
        if kind == capture_pb2.Mapping.KERNEL:
            build_id = identity.build_id or kernel.build_id
            return self._kernel_part(KernelIdentity(build_id, kernel.modules), identity.name, None)
        return self._kernel_part(kernel, identity.name, identity.name.strip("[]"))

    def _vdso(self, identity: ImageIdentity) -> Image:
        elf = self._source.vdso(identity)
        if isinstance(elf, Missing):
            return UnknownImage(elf.reason)
        try:
            return ElfImage(
                identity.name, elf.segment_map, None, read_symbols(elf), "The vdso has no debug data."
            )
        except MalformedElf as error:
            return UnknownImage(f"The vdso is unusable. {error}")

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
            else UnknownImage(f"The kernel table has no functions of {name}.")
        )

    def _kernel_symbols(self, kernel: KernelIdentity, module: str | None) -> Kallsyms | Missing:
        """Symbols of a kernel; read again after a while if they or the module's are missing."""
        known = self._kernels.get(kernel)
        if known is not None:
            symbols, read_at = known
            lacks = isinstance(symbols, Missing) or (module is not None and module not in symbols.modules)
            if not lacks or self._clock() < read_at + self._recheck_s:
                return symbols
        symbols = self._source.kernel(kernel)
        self._kernels[kernel] = symbols, self._clock()
        evict_oldest(self._kernels, _memory_of, most=MAX_KERNELS, most_bytes=MAX_KERNEL_BYTES)
        return symbols


def _is_of(kernel: KernelIdentity | None, binary_key: str) -> bool:
    """Whether the binary is the kernel or one of its modules."""
    return kernel is not None and binary_key in kernel.keys


def _memory_of(known: tuple[Kallsyms | Missing, float]) -> int:
    symbols, _ = known
    return symbols.memory_bytes if isinstance(symbols, Kallsyms) else 0
