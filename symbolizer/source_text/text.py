"""The text of a source file that a binary was built from, for the source view (DIGEST G18).

The places are tried in this order:

1. the store, by (binary, path): uploaded, or fetched before;
2. debuginfod servers, which index sources by build-id; their texts are put into the store;
3. checkouts on this machine, which may have another version than the binary; the result is marked uncertain.

Readers without the right to store anything cause fetches from servers. So both the number of fetches in an hour
and the stored bytes are limited. Beyond the limit of bytes a text is shown but not stored.

A path is the one in the debug data, made absolute and normal. Text that is not UTF-8 is read as Latin-1, the
encoding of many old sources.
"""

import logging
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from sqlalchemy import Engine

from storage.archive import Archive
from storage.errors import BlobMissing
from storage.symbols.absences import source_kind
from storage.symbols.errors import BadKey, BlobDamaged
from storage.symbols.keys import source_path
from storage.symbols.sources import MAX_SOURCE_BYTES, fetched_bytes, find_source, put_source, read_source
from symbolizer.source_text.fetch_quota import FetchQuota
from symbolizer.source_text.roots import SourceRoot, open_source
from symbolizer.sources.debuginfod_client import DebuginfodClient, Fetched
from symbolizer.sources.negative_cache import StoredNegativeCache
from symbolizer.sources.source import Missing

log = logging.getLogger(__name__)

_HEX: Final = frozenset("0123456789abcdef")
_LEAST_ID_DIGITS: Final = 8
_MOST_ID_DIGITS: Final = 128


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text, and whether the binary was certainly built from it."""

    text: str
    sha256: bytes
    """SHA-256 of the bytes."""
    origin: str
    """Its place, for a person."""
    is_certain: bool
    """False for a checkout, which may have changed since the build."""


@dataclass(frozen=True, slots=True)
class NotNow:
    """The text is not available locally, and the quota of fetches is used up for now."""

    reason: str
    """A sentence."""
    retry_s: float


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Limits of the fetches from debuginfod servers that readers cause."""

    kept_bytes: int = 1 << 30
    """Limit in the archive for all fetched texts; four concurrent fetches may exceed it by as many texts."""
    per_hour: int = 600


class SourceTexts:
    """Finds texts; threads may share an instance."""

    def __init__(
        self,
        engine: Engine,
        archive: Archive,
        *,
        folder: Path,
        servers: Sequence[DebuginfodClient] = (),
        roots: Sequence[SourceRoot] = (),
        limits: FetchLimits | None = None,
    ) -> None:
        """`folder` holds downloads in progress."""
        self._engine = engine
        self._archive = archive
        self._folder = folder
        self._servers = tuple(servers)
        self._roots = tuple(roots)
        self._notes = StoredNegativeCache(engine)
        self._limits = limits or FetchLimits()
        self._allowance = FetchQuota(self._limits.per_hour)

    def find(self, binary_key: str, path: str) -> SourceText | Missing | NotNow:
        """The text of `path` in a binary. Raises `DatabaseError`, `ArchiveUnavailable`; OSError for the folder."""
        try:
            path = source_path(path)
        except BadKey as error:
            return Missing(str(error))
        found = self._stored(binary_key, path) or self._served(binary_key, path)
        if isinstance(found, SourceText):
            return found
        return (
            self._checked_out(path)
            or found
            or Missing(
                f"{path} is neither uploaded, nor on a debuginfod server, nor in a configured checkout."
            )
        )

    def _stored(self, binary_key: str, path: str) -> SourceText | None:
        with self._engine.connect() as connection:
            source = find_source(connection, binary_key, path)
        if source is None:
            return None
        try:
            content = read_source(self._archive, source)
        except (BlobMissing, BlobDamaged):
            return None  # other places may have it
        return SourceText(_decoded(content), source.sha256, "the store", is_certain=True)

    def _served(self, binary_key: str, path: str) -> SourceText | NotNow | None:
        is_build_id = _HEX.issuperset(binary_key) and _LEAST_ID_DIGITS <= len(binary_key) <= _MOST_ID_DIGITS
        if not is_build_id or len(binary_key) % 2 or not path.startswith("/"):
            return None
        for server in self._servers:
            if self._notes.known(binary_key, source_kind(path), server.server) is None:
                if (retry_s := self._allowance.take()) > 0:
                    return NotNow(
                        f"The limit of {self._limits.per_hour} requests for sources to debuginfod "
                        "servers per hour is reached.",
                        retry_s,
                    )
                text = self._fetch(server, binary_key, path)
                if text is not None:
                    return text
        return None

    def _fetch(self, server: DebuginfodClient, binary_key: str, path: str) -> SourceText | None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(prefix=".source-", dir=self._folder) as file:
            target = Path(file.name)
            outcome = server.fetch(bytes.fromhex(binary_key), f"source{path}", target, limit=MAX_SOURCE_BYTES)
            if isinstance(outcome, Fetched):
                content = target.read_bytes()
                self._keep(binary_key, path, content)
                return SourceText(_decoded(content), sha256(content).digest(), outcome.url, is_certain=True)
        if outcome.lifetime_s > 0:
            self._notes.note(
                binary_key,
                source_kind(path),
                server.server,
                reason=outcome.reason,
                seconds=outcome.lifetime_s,
            )
        return None

    def _keep(self, binary_key: str, path: str, content: bytes) -> None:
        with self._engine.connect() as connection:
            kept = fetched_bytes(connection)
        if kept + len(content) > self._limits.kept_bytes:
            log.warning(
                "not stored: a fetched source of %d bytes, %d bytes are stored already", len(content), kept
            )
            return
        put_source(self._engine, self._archive, binary_key, path, content, fetched=True)

    def _checked_out(self, path: str) -> SourceText | None:
        opened = open_source(self._roots, path)
        if opened is None:
            return None
        with opened:
            content = opened[0:MAX_SOURCE_BYTES]
        return SourceText(_decoded(content), sha256(content).digest(), str(opened.path), is_certain=False)


def _decoded(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")
