"""Builds one file of built symbols from debug files, in a child process with its own limits."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symbolizer.builds import child as build_child
from symbolizer.builds.estimate import DebugSize, debug_size
from symbolizer.sources.source import Found

_GIB: Final = 1 << 30
_MIB: Final = 1 << 20
_PACKAGE_ROOT: Final = Path(__file__).resolve().parents[2]
_POLL_S: Final = 5.0
_ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""Without these, importing numpy reserves 32 MiB of address space for each of the machine's CPUs."""


@dataclass(frozen=True, slots=True)
class BuildLimits:
    """Limits of building one file of symbols. Measured: 25 CPU s and 1.3 GiB per GB of C++ debug data."""

    memory_bytes: int = 16 * _GIB
    """Maximum of address space, whatever the size of the file."""
    memory_fixed_bytes: int = _GIB
    memory_per_byte: int = 3
    """Address space per byte of the file, on top of the fixed part."""
    seconds_fixed: int = 20
    seconds_per_gib: int = 120
    """CPU time; the wall-clock limit is three times as long."""
    output_fixed_bytes: int = 64 * _MIB
    output_per_byte: int = 4
    """Bytes of the built file per byte of debug data; more than 1, because symbols may share one name's bytes in the
    debug file but not in the built one."""
    failure_lifetime_s: float = 3600.0
    """Time until a failed build may be tried again."""

    def memory_for(self, size: int) -> int:
        """Bytes of address space for `size` bytes of debug data."""
        return min(self.memory_fixed_bytes + self.memory_per_byte * size, self.memory_bytes)

    def output_for(self, size: int) -> int:
        """Maximum bytes of the built file."""
        return self.output_fixed_bytes + self.output_per_byte * size

    def seconds_for(self, size: int) -> int:
        """CPU seconds for `size` bytes of debug data."""
        return self.seconds_fixed + self.seconds_per_gib * size // _GIB


@dataclass(frozen=True, slots=True)
class BuildInput:
    """The input files of a build; they stay open until it has ended."""

    debug: Found
    """The file with DWARF."""
    executable: Found | None
    """Provides segments, exported symbols and PLT stubs; None: not available."""
    size: DebugSize
    """Determines the limits."""

    @property
    def stored(self) -> tuple[bytes, ...]:
        """SHA-256 of the store's files among them, including those they were joined from."""
        return self.debug.stored + (self.executable.stored if self.executable is not None else ())


def build_input(debug: Found, executable: Found | None) -> BuildInput:
    """The input from available files. Raises `MalformedElf`."""
    return BuildInput(debug, executable, debug_size(debug))


@dataclass(frozen=True, slots=True)
class BuildSucceeded:
    """A file was written; what the child used."""

    cpu_s: float
    peak_rss_bytes: int


@dataclass(frozen=True, slots=True)
class BuildFailed:
    """No file was written; why, as a sentence."""

    reason: str
    unusable: bool = False
    """The debug data itself is at fault, not a limit or a missing second file."""


@dataclass(frozen=True, slots=True)
class BuildAbandoned:
    """The build was stopped because this process lost its claim."""


def make_built_symbols(
    source: BuildInput,
    output: Path,
    limits: BuildLimits,
    *,
    is_still_claimed: Callable[[], bool] = lambda: True,
) -> BuildSucceeded | BuildFailed | BuildAbandoned:
    """Build into `output`, which exists. `is_still_claimed` is called every few seconds.

    Uses time and memory up to `limits`, in a child that dies with this process. Raises OSError
    if no child can be started or the disk is full; any other end of the child is `BuildFailed`.
    """
    size = source.size.memory_bytes
    memory, seconds = limits.memory_for(size), limits.seconds_for(size)
    origin = source.debug.origin
    descriptors = [source.debug.content.descriptor]
    if source.executable is not None and source.executable is not source.debug:
        descriptors.append(source.executable.content.descriptor)
    request = build_child.Request(str(output), memory, seconds, limits.output_for(size), origin, *descriptors)
    process = subprocess.Popen(
        [sys.executable, "-m", build_child.__name__, *request.arguments()],
        env=os.environ | _ONE_THREAD,
        cwd=_PACKAGE_ROOT,  # `-m` finds the package here, installed or not
        pass_fds=descriptors,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 3 * seconds
    try:
        while True:
            try:
                output_text, complaint = process.communicate(
                    timeout=min(_POLL_S, deadline - time.monotonic())
                )
                break
            except subprocess.TimeoutExpired:
                if time.monotonic() >= deadline:
                    return BuildFailed(f"{origin}: its debug data was not read within {3 * seconds} s.")
                if not is_still_claimed():
                    return BuildAbandoned()
    finally:
        process.kill()
        process.communicate()
    if process.returncode == 0:
        return BuildSucceeded(**json.loads(output_text))
    lines = complaint.decode("utf-8", "replace").strip().splitlines()
    why = lines[-1][:500] if lines else "it reported no reason"
    if process.returncode == build_child.UNABLE:
        raise OSError(f"{origin}: cannot write its symbols to {output.parent}: {why}.")
    if process.returncode in (build_child.REFUSED, build_child.UNUSABLE):
        unusable = process.returncode == build_child.UNUSABLE
        return BuildFailed(f"{origin}: its debug data is unusable ({why}).", unusable)
    if process.returncode < 0:
        why = f"signal {-process.returncode} within {seconds} CPU s and {memory // _MIB} MiB"
    return BuildFailed(f"{origin}: reading its debug data ended early ({why}).")
