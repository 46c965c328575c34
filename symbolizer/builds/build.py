"""Builds one file of built symbols from debug files, in a child process with limits of its own."""

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
"""Else importing numpy reserves 32 MiB of address space for each of the machine's CPUs."""


@dataclass(frozen=True, slots=True)
class BuildLimits:
    """What building one file of symbols may take. Measured: 25 CPU s and 1.3 GiB per GB of C++ debug data."""

    memory_bytes: int = 16 * _GIB
    """Address space at most, whatever the size of the file."""
    memory_fixed_bytes: int = _GIB
    memory_per_byte: int = 3
    """Address space per byte of the file, on top of the fixed part."""
    seconds_fixed: int = 20
    seconds_per_gib: int = 120
    """CPU time; the clock on the wall may run three times as long."""
    output_fixed_bytes: int = 64 * _MIB
    output_per_byte: int = 4
    """Of the built file, for each byte of the debug data: symbols may share the bytes of one name, but the file has it for each."""
    failure_lifetime_s: float = 3600.0
    """How long a failure is believed."""

    def memory_for(self, size: int) -> int:
        """Bytes of address space for `size` bytes of debug data."""
        return min(self.memory_fixed_bytes + self.memory_per_byte * size, self.memory_bytes)

    def output_for(self, size: int) -> int:
        """Bytes that the built file may have."""
        return self.output_fixed_bytes + self.output_per_byte * size

    def seconds_for(self, size: int) -> int:
        """CPU seconds for `size` bytes of debug data."""
        return self.seconds_fixed + self.seconds_per_gib * size // _GIB


@dataclass(frozen=True, slots=True)
class BuildInput:
    """The files that a binary's symbols are built from; they stay open until the build has ended."""

    debug: Found
    """Has DWARF."""
    executable: Found | None
    """For its segments, the symbols it exports, and its stubs; None: not at hand."""
    size: DebugSize
    """What the limits go by."""

    @property
    def stored(self) -> tuple[bytes, ...]:
        """The files of the store among them and in them, by SHA-256."""
        return self.debug.stored + (self.executable.stored if self.executable is not None else ())


def build_input(debug: Found, executable: Found | None) -> BuildInput:
    """The input from files at hand. Raises `MalformedElf`."""
    return BuildInput(debug, executable, debug_size(debug))


@dataclass(frozen=True, slots=True)
class BuildSucceeded:
    """A file was written, at this cost of the child."""

    cpu_s: float
    peak_rss_bytes: int


@dataclass(frozen=True, slots=True)
class BuildFailed:
    """None was written; why, as a sentence."""

    reason: str
    unusable: bool = False
    """The debug data itself is at fault: not a limit, nor a file that is missing beside it."""


@dataclass(frozen=True, slots=True)
class BuildAbandoned:
    """The build was stopped because it is not this process's any more."""


def make_built_symbols(
    source: BuildInput,
    output: Path,
    limits: BuildLimits,
    *,
    is_still_claimed: Callable[[], bool] = lambda: True,
) -> BuildSucceeded | BuildFailed | BuildAbandoned:
    """Build into `output`, which exists. `is_still_claimed` is asked every few seconds.

    Takes up to `limits` of time and memory, in a child that dies with this process. Raises OSError
    if no child can be started or the disk is full; whatever else ends the child is `BuildFailed`.
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
        cwd=_PACKAGE_ROOT,  # `-m` finds the package there, installed or not
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
    why = lines[-1][:500] if lines else "it wrote nothing"
    if process.returncode == build_child.UNABLE:
        raise OSError(f"{origin}: its symbols cannot be written to {output.parent}: {why}.")
    if process.returncode in (build_child.REFUSED, build_child.UNUSABLE):
        unusable = process.returncode == build_child.UNUSABLE
        return BuildFailed(f"{origin}: its debug data cannot be used ({why}).", unusable)
    if process.returncode < 0:
        why = f"signal {-process.returncode} within {seconds} CPU s and {memory // _MIB} MiB"
    return BuildFailed(f"{origin}: reading its debug data ended early ({why}).")
