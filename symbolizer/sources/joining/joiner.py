"""Joins debug data in several files, in a child process, and stores the result on this machine."""

import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from symbolizer.limited_child import run_child
from symbolizer.sources.download_folder import DownloadFolder, no_copy
from symbolizer.sources.joining import child
from symbolizer.sources.opened_elf import as_elf
from symbolizer.sources.source import Found, Missing

log = logging.getLogger(__name__)

_GIB: Final = 1 << 30
_MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """Limits of joining, by the bytes of all files."""

    memory_bytes: int = 16 * _GIB
    memory_fixed_bytes: int = _GIB
    memory_per_byte: int = 8
    """Memory for all sections twice, decompressed."""
    seconds_fixed: int = 20
    seconds_per_gib: int = 2400
    """CPU time; the wall-clock limit is three times as long."""
    output_per_byte: int = 8
    failure_lifetime_s: float = 3600.0
    """Seconds for which a process caches a failure."""

    def memory_for(self, size: int) -> int:
        """Bytes of address space."""
        return min(self.memory_fixed_bytes + self.memory_per_byte * size, self.memory_bytes)

    def seconds_for(self, size: int) -> int:
        """CPU seconds."""
        return self.seconds_fixed + self.seconds_per_gib * size // _GIB


class _NotJoined(Exception):
    """The child did not write the file; why, as text."""


class Joiner:
    """Stores joined files in a folder of copies. Processes may share the folder."""

    def __init__(
        self,
        folder: DownloadFolder,
        *,
        limits: JoinLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._limits = limits or JoinLimits()
        self._clock = clock
        self._failed: dict[str, tuple[str, float]] = {}

    def join(self, debug: Found, others: Sequence[Found]) -> Found | Missing:
        """Join a debug file with the files it needs; all inputs may be closed afterwards."""
        files = [debug, *others]
        name = f"joined-{hashlib.sha256(b''.join(_fingerprint(found) for found in files)).hexdigest()}"
        origin = f"{debug.origin} with {others[0].origin}"
        if len(others) > 1:
            origin += f" and {len(others) - 1} more"
        why, until = self._failed.get(name, ("", 0.0))
        if until > self._clock():
            return Missing(why)
        try:
            content = self._folder.obtain(name, lambda target: self._run(files, target))
        except _NotJoined as error:
            log.warning("not joined: %s, %s", origin, error)
            missing = Missing(f"{origin}: cannot join them. {error}")
            self._failed[name] = missing.reason, self._clock() + self._limits.failure_lifetime_s
            return missing
        except OSError as error:
            log.warning("not joined: %s, %s", origin, error)
            return Missing(no_copy(f"{origin}, joined", error))
        joined = as_elf(content, origin)
        if isinstance(joined, Missing):
            return joined
        return replace(joined, joined=tuple(sha256 for found in files for sha256 in found.stored))

    def _run(self, files: Sequence[Found], target: Path) -> None:
        size = sum(len(found.content) for found in files)
        memory, seconds = self._limits.memory_for(size), self._limits.seconds_for(size)
        most = _MIB + self._limits.output_per_byte * size
        descriptors = [found.content.descriptor for found in files]
        arguments = [str(target), str(memory), str(seconds), str(most), *map(str, descriptors)]
        ended = run_child(child, arguments, descriptors, seconds=3 * seconds)
        if ended is None:
            raise _NotJoined(f"It took more than {3 * seconds} s.")
        if ended.status == 0:
            return
        why = ended.last_error or "It reported no reason."
        if ended.status < 0:
            why = f"It was killed by signal {-ended.status} within {seconds} CPU s and {memory // _MIB} MiB."
        raise _NotJoined(why)


def _fingerprint(found: Found) -> bytes:
    """Identifies a file without reading all of it: its headers, build-id and size."""
    elf = found.elf
    content = found.sha256 or elf.build_id + elf.sections.tobytes() + found.content[0:64]
    return hashlib.sha256(content + len(found.content).to_bytes(8, "little")).digest()
