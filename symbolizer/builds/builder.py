"""The task `symbolizer.build_symcache`: builds one binary's symbols, independently of any capture.

Any number of workers may receive the task for the same binary, at once or repeatedly: one of them builds, for all
machines. If a worker is killed, only its work is lost: the lease expires, and the next request builds.
"""

import logging
from contextlib import ExitStack
from pathlib import Path

from sqlalchemy import Engine

from storage.archive import Archive
from storage.binaries import find_path
from storage.symbols.kinds import Quality
from symbolizer.builds.build import BuildLimits, build_input
from symbolizer.builds.fleet_ledger import FleetLedger
from symbolizer.builds.outcome import Built, NotBuilt
from symbolizer.builds.symbol_cache_folder import DEFAULT_LIMIT_BYTES, SymbolCacheFolder
from symbolizer.builds.symcaches import SymCaches
from symbolizer.errors import MalformedElf
from symbolizer.identity import ImageIdentity, identity_of_key
from symbolizer.sources.source import Found, SymbolSource

log = logging.getLogger(__name__)


def fleet_symcaches(
    engine: Engine,
    archive: Archive,
    folder: Path,
    *,
    limits: BuildLimits | None = None,
    folder_bytes: int = DEFAULT_LIMIT_BYTES,
) -> SymCaches:
    """Built symbols of the whole fleet; `folder` holds this machine's copies, up to `folder_bytes`."""
    return SymCaches(
        SymbolCacheFolder(folder, limit_bytes=folder_bytes), FleetLedger(engine, archive), limits=limits
    )


class SymCacheBuilder:
    """Builds from a source's best debug file. Used by one thread if the source is."""

    def __init__(
        self,
        engine: Engine,
        archive: Archive,
        source: SymbolSource,
        folder: Path,
        limits: BuildLimits | None = None,
        *,
        folder_bytes: int = DEFAULT_LIMIT_BYTES,
    ) -> None:
        self._engine = engine
        self._source = source
        self._caches = fleet_symcaches(engine, archive, folder, limits=limits, folder_bytes=folder_bytes)

    def build(self, key: str, path: str = "") -> Built | NotBuilt:
        """Build the symbols of a binary by its key, from another file than before if that is better now.

        `path` is the binary's path on a sampled machine; '': the store's. `NotBuilt.pending`: another worker
        builds it, and nothing is left to do here. Raises the store's errors, and OSError if the folder cannot be
        written; the task may then be tried again.
        """
        identity = identity_of_key(key, path or self._path(key))
        while True:  # each time with one candidate fewer
            try:
                outcome = self._build_best(identity)
            except MemoryError:
                log.warning("not built: binary=%s why=no memory", key)
                return NotBuilt(
                    "Its files need more memory than this process has left (FLEETPROF_WORKER_MEMORY_BYTES)."
                )
            if not (isinstance(outcome, NotBuilt) and outcome.rejected):
                return outcome

    def _build_best(self, identity: ImageIdentity) -> Built | NotBuilt:
        key = identity.key
        with ExitStack() as opened:
            executable = self._source.executable(identity)
            at_hand = executable if isinstance(executable, Found) else None
            if at_hand is not None:
                opened.enter_context(at_hand.content)
            debug = at_hand if at_hand is not None and at_hand.quality == Quality.DWARF else None
            if debug is None:
                found = self._source.debug_file(identity, at_hand)
                if not isinstance(found, Found):
                    return NotBuilt(found.reason)
                debug = found
                opened.enter_context(debug.content)
            if debug.quality != Quality.DWARF:
                return NotBuilt(f"{debug.origin} has symbols, but no debug data.")
            try:
                source = build_input(debug, at_hand)
            except MalformedElf as error:
                return NotBuilt(f"{debug.origin} is unusable. {error}")
            outcome = self._caches.build(key, source)
        if isinstance(outcome, Built):
            log.info("built: binary=%s from=%s", key, debug.origin)
        else:
            log.warning("not built: binary=%s why=%s", key, outcome.reason)
        return outcome

    def _path(self, key: str) -> str:
        with self._engine.connect() as connection:
            return find_path(connection, key)
