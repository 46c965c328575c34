"""Names a binary's functions as soon as it has symbols: in place at once, then in every capture.

    upload, response of a gateway, finished build
      → functions that were ingested without a name get one (`storage.ingest.late_names`); no stack changes
      → a reprocessing begins (`storage.symbols.reprocessing`): lines and inlined calls come with the captures' next
        generation, in the background

If a worker is killed between the two, or the message is lost, `storage.symbols.improved_binaries` has what remains.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from sqlalchemy import Engine

from fleetpb import capture_pb2
from storage.binaries import SeenBinary, find_binary
from storage.ingest.interning import Interner
from storage.ingest.late_names import rename, unnamed_starts
from storage.ingest.symbolized import FunctionName, Status
from storage.symbols import reprocessing
from storage.symbols.candidates import ranked
from storage.symbols.improved_binaries import is_improved
from storage.symbols.kinds import Quality
from symbolizer.addresses import U64, FileOffsets
from symbolizer.builds.symcaches import PENDING, SymCaches
from symbolizer.identity import ImageIdentity, identity_of_key
from symbolizer.images.image import Image
from symbolizer.images.images import Images
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.sources.source import SymbolSource

log = logging.getLogger(__name__)

_KINDS: Final = {
    "file": capture_pb2.Mapping.FILE,
    "kernel": capture_pb2.Mapping.KERNEL,
    "vdso": capture_pb2.Mapping.VDSO,
}
"""Kinds whose names follow from the key alone; a module's also follow from the kernel it is loaded into."""


@dataclass(frozen=True, slots=True)
class NamingResult:
    """Result of naming a binary's functions."""

    functions: int
    """Functions named in place."""
    reprocessing_id: int | None
    """None: no capture is reprocessed."""
    pending: bool = False
    """Its debug data is being read; more names follow when that is done."""


NOTHING: Final = NamingResult(0, None)


class FunctionNamer:
    """Names functions and starts reprocessings. For one thread, like its sources."""

    def __init__(
        self,
        engine: Engine,
        source: SymbolSource,
        caches: SymCaches,
        *,
        request_build: Callable[[ImageIdentity], None] | None = None,
    ) -> None:
        """`request_build` is called for debug data too large to be read at once; the finished build calls back."""
        self._engine = engine
        self._source = source
        self._caches = caches
        self._wants_build = request_build
        self._interner = Interner(engine)

    def name_functions(self, key: str, why: str = "") -> NamingResult:
        """Name functions without a name; have captures reprocessed that were ingested with worse symbols.

        `why` is stored for people. May be called at any time, repeatedly, and by several workers at once. Raises
        `DatabaseError`, OSError.
        """
        with self._engine.connect() as connection:
            seen = find_binary(connection, key)
            starts = unnamed_starts(connection, key)
            news = is_improved(connection, key)
        if seen is None or not (starts or news):
            return NOTHING
        image = self._image(key, seen)  # without any cached state
        functions = 0
        if image is not None and starts:
            functions = rename(self._engine, self._interner, key, _names(image, seen.name, starts))
        pending = image is not None and image.reason.endswith(PENDING.reason)
        is_of_use = image is None or image.status > Status.BINARY_ONLY
        reprocessing_id = None
        if news and is_of_use and not pending:
            reprocessing_id = self._ingest_again(key, image, why, functions)
        log.info(
            "symbols: binary=%s status=%s renamed=%d reprocessing=%s pending=%s",
            key, image.status.name.lower() if image else "", functions, reprocessing_id, pending,
        )  # fmt: skip
        return NamingResult(functions, reprocessing_id, pending)

    def _ingest_again(self, key: str, image: Image | None, why: str, functions: int) -> int:
        with self._engine.begin() as connection:
            best = next(iter(ranked(connection, key)), None)
            why = why or (
                f"{best.name or 'A file'} arrived by {best.origin}." if best else "Its debug data was read."
            )
            if image is None:  # a module: its names are taken from its file alone
                nameless = best is None or best.quality < Quality.DWARF
            else:
                nameless = image.status < Status.FULL
            return reprocessing.begin(connection, key, why=why, nameless=nameless, renamed=functions)

    def _image(self, key: str, seen: SeenBinary) -> Image | None:
        """The binary with its current symbols; None: its names depend on more than its key."""
        kind = _KINDS.get(seen.kind)
        if kind is None:
            return None
        images = Images(self._source, self._caches, request_build=self._wants_build)
        identity = identity_of_key(key, seen.path)
        kernel = KernelIdentity(identity.build_id if kind == capture_pb2.Mapping.KERNEL else b"")
        return images.open(kind, identity, kernel)


def _names(image: Image, binary_name: str, starts: list[int]) -> dict[int, FunctionName]:
    """The image's names of the functions that begin at these offsets (ascending)."""
    offsets: U64 = np.array(starts, np.uint64)
    frames = image.frames(FileOffsets(offsets))
    ends = frames.offsets[1:]
    named = np.flatnonzero(np.diff(frames.offsets) > 0)
    found = {}
    for place in named.tolist():
        # The last frame is the function itself; those before it are inlined at its first instruction.
        function, _line = frames.names[int(frames.entries[int(ends[place]) - 1])]
        found[starts[place]] = replace(function, binary_name=binary_name)
    return found
