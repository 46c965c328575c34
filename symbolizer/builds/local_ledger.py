"""A `CacheLedger` in a folder: for workers of one machine, without a store.

FOLDER/known/symbolic-13.9.0+2/ab/abcdef….json    the built file, or the reason of a failure and its end
                                  abcdef….lock    held by the process that builds it
"""

import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from symbolizer.builds.build import BuildSucceeded
from symbolizer.builds.cache_ledger import producer
from symbolizer.builds.outcome import CacheEntry, NotBuilt

_PLAIN_NAME: Final = re.compile(r"[0-9a-f]{8,128}")


class LocalLedger:
    """Processes may share the folder; threads may share an instance."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder / "known" / producer()
        self._clock = clock

    def find(self, key: str) -> CacheEntry | NotBuilt | None:
        """The result recorded for a binary."""
        noted = self._read(key)
        if noted is None or (noted.sha256 == b"" and noted.until <= self._clock()):
            return None
        if noted.sha256:
            return CacheEntry(noted.sha256, noted.source_sha256, producer())
        return NotBuilt(noted.reason, noted.until)

    @contextmanager
    def claim(self, key: str, source_sha256: bytes, *, wait_s: float) -> Iterator["_LocalClaim | None"]:  # noqa: ARG002 - death frees locks
        """Waits until no other process builds it."""
        self._path(key, "").parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._path(key, ".lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            known = self._read(key) if self.find(key) is not None else None
            is_done = known is not None and known.source_sha256 == source_sha256
            yield None if is_done else _LocalClaim(self._path(key, ".json"), source_sha256)

    def refusal(self, key: str, source_sha256: bytes) -> NotBuilt | None:
        """A failure that has not expired."""
        noted, known = self._read(key), self.find(key)
        is_of_it = noted is not None and noted.source_sha256 == source_sha256
        return known if is_of_it and isinstance(known, NotBuilt) else None

    def fetch(self, key: str, entry: CacheEntry, into: Path) -> bool:  # noqa: ARG002 - other ledgers fetch
        """Always False: a file that is missing in the folder is nowhere else, so its record is deleted."""
        self._path(key, ".json").unlink(missing_ok=True)
        return False

    def _read(self, key: str) -> "_Noted | None":
        try:
            content: dict[str, Any] = json.loads(self._path(key, ".json").read_bytes())
            return _Noted(
                bytes.fromhex(content["sha256"]),
                bytes.fromhex(content["source_sha256"]),
                str(content["reason"]),
                float(content["until"]),
            )
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def _path(self, key: str, suffix: str) -> Path:
        name = (
            key if _PLAIN_NAME.fullmatch(key) else hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
        )
        return self._folder / name[:2] / f"{name}{suffix}"


@dataclass(frozen=True, slots=True)
class _Noted:
    sha256: bytes
    """b"": the build failed."""
    source_sha256: bytes
    reason: str
    until: float


@dataclass(frozen=True, slots=True)
class _LocalClaim:
    """Holds the lock as long as the process lives."""

    path: Path
    source_sha256: bytes

    def is_still_claimed(self) -> bool:
        """Always True: no other process gets the lock."""
        return True

    def built(self, finished: Path, made: BuildSucceeded, stored: Iterable[bytes]) -> CacheEntry:  # noqa: ARG002 - only a store keeps these
        """Record the file by its content."""
        with finished.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").digest()
        self._write(sha256=sha256.hex(), reason="", until=0.0)
        return CacheEntry(sha256, self.source_sha256, producer())

    def failed(self, failure: NotBuilt, *, unusable: bool) -> bool:  # noqa: ARG002 - only a store has other candidates
        """Record the failure with its time."""
        self._write(sha256="", reason=failure.reason, until=failure.until)
        return False

    def _write(self, **noted: Any) -> None:
        temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
        try:
            temporary.write_text(json.dumps({**noted, "source_sha256": self.source_sha256.hex()}))
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)
