"""The product's side: cost of building, results, and whether its limits hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.symbolizer.agreement import Level
from symbolizer.builds.build import BuildInput, BuildLimits, BuildSucceeded, build_input
from symbolizer.builds.local_ledger import LocalLedger
from symbolizer.builds.outcome import Built, CacheEntry, NotBuilt
from symbolizer.builds.symbol_cache_folder import SymbolCacheFolder
from symbolizer.builds.symcaches import SymCaches, local_symcaches
from symbolizer.elf.file import ElfFile
from symbolizer.files import OpenedFile
from symbolizer.images.batch import SymbolizedBinary
from symbolizer.sources.source import Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from benchmarks.symbolizer.inputs import Binary
    from benchmarks.symbolizer.peers import Answers
    from symbolizer.builds.cache_ledger import Claim

_ROOT = Path(__file__).resolve().parents[2]


class CannotBuild(Exception):
    """The product could not build an input; the text gives its reason."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of building one binary's symbols."""

    cpu_s: float
    peak_rss_mib: float
    cache_mib: float
    source_gib: float


class _NotingClaim:
    """A claim that records the cost of the build."""

    def __init__(self, claim: Claim, costs: list[BuildSucceeded]) -> None:
        self._claim = claim
        self._costs = costs

    def is_still_claimed(self) -> bool:
        return self._claim.is_still_claimed()

    def built(self, finished: Path, made: BuildSucceeded, stored: Iterable[bytes]) -> CacheEntry | None:
        self._costs.append(made)
        return self._claim.built(finished, made, stored)

    def failed(self, failure: NotBuilt, *, unusable: bool) -> bool:
        return self._claim.failed(failure, unusable=unusable)


class _NotingLedger(LocalLedger):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.costs: list[BuildSucceeded] = []

    @contextmanager
    def claim(self, key: str, source_sha256: bytes, *, wait_s: float) -> Iterator[Any]:
        with super().claim(key, source_sha256, wait_s=wait_s) as claim:
            yield None if claim is None else _NotingClaim(claim, self.costs)


def build(binary: Binary, cache: Path) -> Cost:
    """Build its symbols into the cache under its name. Raises CannotBuild."""
    ledger = _NotingLedger(cache)
    with ExitStack() as opened:
        source = _input(binary, opened)
        outcome = SymCaches(SymbolCacheFolder(cache), ledger).build(binary.name, source)
        size = source.debug.content.size
    if not isinstance(outcome, Built):
        raise CannotBuild(outcome.reason)
    path = next(iter((cache / "built").rglob(f"{outcome.entry.sha256.hex()}.built")))
    return Cost(
        ledger.costs[-1].cpu_s,
        ledger.costs[-1].peak_rss_bytes / (1 << 20),
        path.stat().st_size / (1 << 20),
        size / (1 << 30),
    )


def fails_within(binary: Binary, cache: Path, memory_bytes: int) -> str:
    """Try to build it with too little memory; returns the reason given, or '' if it was built or left files behind."""
    caches = local_symcaches(cache, limits=BuildLimits(memory_bytes=memory_bytes))
    with ExitStack() as opened:
        outcome = caches.build(binary.name, _input(binary, opened))
    left = [
        path for path in cache.rglob("*") if path.name.startswith(".unfinished") or path.suffix == ".built"
    ]
    return outcome.reason if isinstance(outcome, NotBuilt) and not left else ""


def answers(binary: Binary, cache: Path, addresses: npt.NDArray[np.uint64]) -> Answers:
    """The product's result for each address."""
    built = local_symcaches(cache).find(binary.name)
    assert isinstance(built, Built)
    symbols = SymbolizedBinary(built.symbols)
    batch = symbols.symbolize(addresses)
    levels = {}
    for identifier in np.unique(batch.frames).tolist():
        frame = symbols.frame(identifier)
        levels[identifier] = Level(frame.function_raw, frame.file, frame.line)
    ends = batch.offsets.tolist()
    frames = batch.frames.tolist()
    return {
        address: tuple(levels[frame] for frame in frames[ends[index] : ends[index + 1]])
        for index, address in enumerate(batch.distinct.values.tolist())
    }


def measured(
    cache: Path, key: str, addresses: npt.NDArray[np.uint64], *, first: bool = False, cold: bool = False
) -> dict[str, float]:
    """Cost in a fresh process; `cold`: without the cache file in memory."""
    path = cache / "addresses.npy"
    np.save(path, addresses)
    if cold:
        for file in (cache / "built").rglob("*.built"):
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    command = [sys.executable, "-m", "benchmarks.symbolizer.measure", str(cache), key, str(path)]
    done = subprocess.run(
        [*command, "--first"] if first else command,
        cwd=_ROOT,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def first_answer_ms(
    cache: Path, key: str, addresses: npt.NDArray[np.uint64], *, times: int, cold: bool
) -> float:
    """Median over processes, each with a different address."""
    return median(
        measured(cache, key, addresses[turn : turn + 1], first=True, cold=cold)["first_ms"]
        for turn in range(times)
    )


def _input(binary: Binary, opened: ExitStack) -> BuildInput:
    files = []
    for path in dict.fromkeys((binary.debug, binary.executable)):
        content = opened.enter_context(OpenedFile(path))
        files.append(Found(content, ElfFile(content), path.name))
    return build_input(files[0], files[-1])
