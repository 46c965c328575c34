"""The local folder of SymCache files: built once per binary, shared by all processes of the machine.

    CACHE/symcache/symbolic-13.9.0/ab/abcdef….symc    the SymCache, renamed into place when whole
                                       abcdef….json    the sidecar: status, origin, segments, sha256
                                       abcdef….lock    held by whoever builds it

The version of the producer is in the path, so a new one builds anew. A failure is a sidecar too,
with its reason and a time until which nobody tries again.
"""

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from symbolizer import build_child
from symbolizer.address_table import AddressTable
from symbolizer.addresses import Segment, SegmentMap
from symbolizer.errors import MalformedSymCache
from symbolizer.sources import Found
from symbolizer.symcache import open_symcache

_FORMAT: Final = 1
_GIB: Final = 1 << 30
_MIB: Final = 1 << 20
_PLAIN_NAME: Final = re.compile(r"[0-9a-f]{8,128}")
_PACKAGE_ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class BuildLimits:
    """What building one SymCache may take. Measured: 25 CPU s and 1.3 GiB per GB of C++ debug data."""

    memory_bytes: int = 16 * _GIB
    """Address space at most, whatever the size of the file."""
    memory_fixed_bytes: int = _GIB
    memory_per_byte: int = 3
    """Address space per byte of the file, on top of the fixed part."""
    seconds_fixed: int = 20
    seconds_per_gib: int = 120
    """CPU time; the clock on the wall may run three times as long."""
    failure_lifetime_s: float = 3600.0
    """How long a failure is believed."""

    def memory_for(self, size: int) -> int:
        """Bytes of address space for a file of `size` bytes."""
        return min(self.memory_fixed_bytes + self.memory_per_byte * size, self.memory_bytes)

    def seconds_for(self, size: int) -> int:
        """CPU seconds for a file of `size` bytes."""
        return self.seconds_fixed + self.seconds_per_gib * size // _GIB


@dataclass(frozen=True, slots=True)
class Built:
    """A SymCache that is ready to be asked."""

    table: AddressTable
    segments: SegmentMap
    """Of the executable: with them it answers even when the executable is gone."""
    origin: str


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """Why there is none, as a sentence, and until when (seconds since 1970) that holds."""

    reason: str
    until: float


@dataclass(frozen=True, slots=True)
class _Sidecar:
    format: int
    status: str
    """built, failed"""
    reason: str
    until: float
    """A failure holds until then, seconds since 1970; 0 for one that is built."""
    origin: str
    source_bytes: int
    source_modified_ns: int
    base: int
    segments: list[list[int]]
    """[offset, vaddr, filesz, executable] of each PT_LOAD."""
    sha256: str
    bytes: int
    build_seconds: float


class SymCaches:
    """The folder, and the only way to its files. Processes may share it; threads may share this."""

    def __init__(
        self, folder: Path, *, limits: BuildLimits | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = folder / "symcache" / f"symbolic-{version('symbolic')}"
        self._limits = limits or BuildLimits()
        self._clock = clock

    def find(self, key: str) -> Built | NotBuilt | None:
        """What is known of a binary without building; None: nothing, or a failure that is out of date."""
        sidecar = self._read_sidecar(key)
        if sidecar is None:
            return None
        if sidecar.status != "built":
            return NotBuilt(sidecar.reason, sidecar.until) if sidecar.until > self._clock() else None
        try:
            table = open_symcache(self._path(key, ".symc"))
        except (OSError, MalformedSymCache):
            return None  # built again from its source
        segments = SegmentMap(tuple(Segment(o, v, n, bool(x)) for o, v, n, x in sidecar.segments))
        return Built(table, segments, sidecar.origin)

    def build(self, key: str, source: Found, segments: SegmentMap) -> Built | NotBuilt:
        """Build it from a file with debug data, unless another process just did; waits for that one.

        `segments` are the executable's. Takes up to `BuildLimits` of time and memory, in a child.
        """
        self._path(key, "").parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._lock(key):
            known = self.find(key)
            if isinstance(known, Built) or (known is not None and not self._changed(key, source)):
                return known
            self._build(key, source, segments)
            built = self.find(key)
        return built or NotBuilt(
            "The SymCache could not be read back.", self._clock() + self._limits.failure_lifetime_s
        )

    def _build(self, key: str, source: Found, segments: SegmentMap) -> None:
        target = self._path(key, ".symc")
        descriptor, name = tempfile.mkstemp(prefix=".building-", dir=target.parent)
        os.close(descriptor)
        temporary = Path(name)
        started = time.monotonic()
        try:
            reason = self._run_child(source, temporary)
            size = temporary.stat().st_size
            digest = _sha256(temporary) if not reason else ""
            if not reason:
                temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
        self._write_sidecar(
            key,
            _Sidecar(
                format=_FORMAT,
                status="failed" if reason else "built",
                reason=reason,
                until=self._clock() + self._limits.failure_lifetime_s if reason else 0.0,
                origin=source.origin,
                source_bytes=source.content.size,
                source_modified_ns=source.content.modified_ns,
                base=segments.base,
                segments=[[s.offset, s.vaddr, s.filesz, int(s.executable)] for s in segments.segments],
                sha256=digest,
                bytes=0 if reason else size,
                build_seconds=round(time.monotonic() - started, 3),
            ),
        )

    def _run_child(self, source: Found, output: Path) -> str:
        """Run the builder; '' if it succeeded, else why not, as a sentence."""
        size = source.content.size
        seconds = self._limits.seconds_for(size)
        memory = self._limits.memory_for(size)
        descriptor = source.content.descriptor
        command = [
            sys.executable,
            "-m",
            build_child.__name__,
            str(descriptor),
            str(output),
            str(memory),
            str(seconds),
        ]
        try:
            done = subprocess.run(
                command,
                cwd=_PACKAGE_ROOT,  # `-m` finds the package there, installed or not
                pass_fds=[descriptor],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=3 * seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{source.origin}: its debug data was not read within {3 * seconds} s."
        if done.returncode == 0:
            return ""
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = said[-1][:500] if said else "it said nothing"
        if done.returncode == build_child.REFUSED:
            return f"{source.origin}: its debug data cannot be used ({why})."
        if done.returncode < 0:
            why = f"signal {-done.returncode} within {seconds} CPU s and {memory // _MIB} MiB"
        return f"{source.origin}: reading its debug data ended early ({why})."

    def _changed(self, key: str, source: Found) -> bool:
        """Whether the file is another than the one a failure was about."""
        sidecar = self._read_sidecar(key)
        return sidecar is None or (sidecar.origin, sidecar.source_bytes, sidecar.source_modified_ns) != (
            source.origin,
            source.content.size,
            source.content.modified_ns,
        )

    @contextmanager
    def _lock(self, key: str) -> Iterator[None]:
        """Only one process builds a binary; the others wait. A dead holder's lock is free at once."""
        with self._path(key, ".lock").open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _path(self, key: str, suffix: str) -> Path:
        name = (
            key if _PLAIN_NAME.fullmatch(key) else hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
        )
        return self._folder / name[:2] / f"{name}{suffix}"

    def _read_sidecar(self, key: str) -> _Sidecar | None:
        try:
            content: dict[str, Any] = json.loads(self._path(key, ".json").read_bytes())
            sidecar = _Sidecar(**content)
        except (OSError, ValueError, TypeError):
            return None
        return sidecar if sidecar.format == _FORMAT else None

    def _write_sidecar(self, key: str, sidecar: _Sidecar) -> None:
        path = self._path(key, ".json")
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            temporary.write_text(json.dumps(asdict(sidecar)))
            temporary.replace(path)
        finally:
            with suppress(FileNotFoundError):
                temporary.unlink()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
