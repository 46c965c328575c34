"""Built symbols of binaries: opened from this machine's folder, fetched if another machine built them, else built."""

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from symbolizer.builds.build import (
    BuildAbandoned,
    BuildFailed,
    BuildInput,
    BuildLimits,
    BuildSucceeded,
    make_built_symbols,
)
from symbolizer.builds.built_symbols import BuiltSymbols, open_built_symbols
from symbolizer.builds.cache_ledger import CacheLedger, Claim, producer
from symbolizer.builds.local_ledger import LocalLedger
from symbolizer.builds.outcome import Built, CacheEntry, NotBuilt
from symbolizer.builds.symbol_cache_folder import SymbolCacheFolder
from symbolizer.errors import MalformedSymCache
from symbolizer.files import OpenedFile

PENDING: Final = NotBuilt(
    "Its lines and inlined calls are being read from its debug data: pending.", pending=True
)
_MAX_DIGESTS: Final = 4096


class SymCaches:
    """Access to built symbols. Processes may share the folder and the ledger; threads may share an instance."""

    def __init__(
        self,
        folder: SymbolCacheFolder,
        ledger: CacheLedger,
        *,
        limits: BuildLimits | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._ledger = ledger
        self._limits = limits or BuildLimits()
        self._clock = clock
        self._damaged: Counter[bytes] = Counter()
        self._digests: dict[tuple[int, int, int, int], bytes] = {}

    def find(self, key: str) -> Built | NotBuilt | None:
        """The built symbols or a recorded failure, without building; None: neither, or the failure has expired.

        An `outdated` result may be used until `build` replaces it. Fetches the file if another machine built it.
        Raises OSError and the ledger's errors.
        """
        entry = self._ledger.find(key)
        if not isinstance(entry, CacheEntry):
            return entry
        if self._damaged[entry.sha256] > 1:
            return NotBuilt(
                "The symbols that were built from its debug data are damaged, even after repeated downloads."
            )
        symbols = self._folder.open(entry.sha256) or self._fetch(key, entry)
        return None if symbols is None else Built(symbols, entry)

    def build(self, key: str, source: BuildInput, *, wait_s: float = 0.0) -> Built | NotBuilt:
        """Build the symbols from a file with debug data, unless they were already built from that file.

        The build runs in a child process within `BuildLimits` of time and memory. While another process builds
        the same symbols, this call waits up to `wait_s` and then returns `PENDING`. Raises OSError if the folder
        cannot be written, and the ledger's errors.
        """
        known = self.known(key, source)
        if known is not None:
            return known
        digest = source.debug.sha256 or self._digest(source.debug.content)
        with self._ledger.claim(key, digest, wait_s=wait_s) as claim:
            if claim is None:
                return self.known(key, source) or self.find(key) or PENDING
            return self._build(source, claim)

    def known(self, key: str, source: BuildInput) -> Built | NotBuilt | None:
        """The recorded result of building from that file: built, rejected, or failed recently; None: not yet built.

        Raises the same errors as `find`.
        """
        digest = source.debug.sha256 or self._digest(source.debug.content)
        found = self.find(key)
        if isinstance(found, Built) and (found.entry.source_sha256, found.entry.producer) == (
            digest,
            producer(),
        ):
            return replace(found, entry=replace(found.entry, outdated=False))
        return self._ledger.refusal(key, digest)

    def damaged(self, built: Built) -> None:
        """Drop a file that proved damaged while it was read; the next `find` fetches or rebuilds it."""
        self._damaged[built.entry.sha256] += 1
        self._folder.drop(built.entry.sha256)

    def _build(self, source: BuildInput, claim: Claim) -> Built | NotBuilt:
        output = self._folder.new_file()
        try:
            made = make_built_symbols(source, output, self._limits, is_still_claimed=claim.is_still_claimed)
            if isinstance(made, BuildAbandoned):
                return PENDING
            symbols = _read_back(output) if isinstance(made, BuildSucceeded) else None
            if symbols is None or not isinstance(made, BuildSucceeded):
                reason = (
                    made.reason
                    if isinstance(made, BuildFailed)
                    else f"{source.debug.origin}: cannot read back the symbols that were built from it."
                )
                failure = NotBuilt(reason, self._clock() + self._limits.failure_lifetime_s)
                unusable = isinstance(made, BuildFailed) and made.unusable
                return replace(failure, rejected=claim.failed(failure, unusable=unusable))
            entry = claim.built(output, made, source.stored)
            if entry is None:
                return PENDING
            self._folder.keep(output, entry.sha256)
            return Built(symbols, entry)
        finally:
            output.unlink(missing_ok=True)

    def _fetch(self, key: str, entry: CacheEntry) -> BuiltSymbols | None:
        """Fetch the symbols from the ledger's store into the folder."""
        target = self._folder.new_file()
        try:
            if not self._ledger.fetch(key, entry, target):
                return None
            self._folder.keep(target, entry.sha256)
            return self._folder.open(entry.sha256)
        finally:
            target.unlink(missing_ok=True)

    def _digest(self, content: OpenedFile) -> bytes:
        """SHA-256 of a file, cached while the file is unchanged: hashing 600 MB takes half a second."""
        status = os.fstat(content.descriptor)
        which = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
        if which not in self._digests:
            if len(self._digests) >= _MAX_DIGESTS:
                self._digests.clear()
            digest = hashlib.sha256()
            for start in range(0, len(content), 1 << 20):
                digest.update(content[start : start + (1 << 20)])
            self._digests[which] = digest.digest()
        return self._digests[which]


def local_symcaches(folder: Path, *, limits: BuildLimits | None = None) -> SymCaches:
    """Built symbols of this machine alone, without a store."""
    return SymCaches(SymbolCacheFolder(folder), LocalLedger(folder), limits=limits)


def _read_back(path: Path) -> BuiltSymbols | None:
    try:
        with path.open("rb") as file:
            return open_built_symbols(file)
    except MalformedSymCache:
        return None
