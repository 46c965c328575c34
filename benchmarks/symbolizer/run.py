"""One run: every input by the product, llvm-symbolizer and addr2line, and the resulting figures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.report import Report, at_least, at_most, exactly
from benchmarks.size import Size
from benchmarks.symbolizer import engine, peers
from benchmarks.symbolizer.agreement import Agreement, compare
from benchmarks.symbolizer.covered import covered_ranges, random_addresses

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import numpy.typing as npt

    from benchmarks.symbolizer.inputs import Binary

BIG: Final = "big"
RUST: Final = "rust"
COMPARED: Final = {Size.SMALLEST: 500, Size.DEFAULT: 10_000, Size.FULL: 50_000}
TIMED_ALL: Final = 1_000_000
TIMED_OTHERS: Final = {Size.SMALLEST: 10_000, Size.DEFAULT: 200_000, Size.FULL: 200_000}
TIMED_LLVM: Final = {Size.SMALLEST: 50_000, Size.DEFAULT: 50_000, Size.FULL: 250_000}
_LLVM_STARTS: Final = 10_000
ADDR2LINE: Final = {Size.SMALLEST: 100, Size.DEFAULT: 2_000, Size.FULL: 2_000}
ADDR2LINE_BIG: Final = 100
TOO_LITTLE: Final = 1 << 30
"""Memory too small to build libLLVM: its file alone is 0.65 GiB, and is mapped."""
_BARS: Final = {RUST: 0.94}
_BAR: Final = 0.98
_FIRST_ANSWERS: Final = 5
_LLVM_CPU_S: Final = 60.0
_ADDR2LINE_CPU_S: Final = 20.0
_SEED: Final = 7


class Run:
    """Collects the figures. `step` is called with the name of the next step."""

    def __init__(self, report: Report, scratch: Path, step: Callable[[str], None], *, size: Size) -> None:
        self._report = report
        self._scratch = scratch
        self._step = step
        self._size = size
        self._llvm = peers.llvm_symbolizer()
        self._llvm_rss_mib = math.nan
        self._shares: dict[str, float] = {}
        self.examples: dict[str, Agreement] = {}
        report.note("llvm_version", peers.llvm_version(self._llvm) if self._llvm else "not installed")

    def binary(self, binary: Binary) -> None:
        """Measure one input. Raises CannotBuild."""
        name = binary.name
        cache = self._scratch / name
        self._step(f"{name}: building")
        cost = engine.build(binary, cache)
        ranges = covered_ranges(binary.executable)
        if not len(ranges[0]):
            raise engine.CannotBuild(f"{binary.executable.name} has no unwind entries to choose addresses by")
        addresses = random_addresses(ranges, TIMED_ALL if name == BIG else TIMED_OTHERS[self._size], _SEED)
        if name == BIG:
            self._first_answers(cache, addresses)
        self._step(f"{name}: looking up")
        took = engine.measured(cache, name, addresses)
        self._speed(binary, cost, took, self._peer_rate(binary, addresses))
        self._agreement(binary, cache, addresses)
        if name == BIG:
            self._step(f"{name}: building with too little memory")
            reason = engine.fails_within(binary, self._scratch / "little", TOO_LITTLE)
            self._report.add(
                "memory_limit_held",
                int(bool(reason)),
                exactly(1),
                peer=f"1 GiB: {reason.rpartition('(')[2].rstrip(').')}",
            )

    def finish(self) -> None:
        """Compute the figures over all inputs."""
        others = {name: share for name, share in self._shares.items() if name != RUST}
        if others:
            worst = min(others, key=others.__getitem__)
            self._report.add("identical_chains", others[worst], at_least(_BAR), peer=f"least of all: {worst}")

    def _first_answers(self, cache: Path, addresses: npt.NDArray[np.uint64]) -> None:
        self._step(f"{BIG}: first answers")
        warm = engine.first_answer_ms(cache, BIG, addresses, times=_FIRST_ANSWERS, cold=False)
        cold = engine.first_answer_ms(cache, BIG, addresses[100:], times=_FIRST_ANSWERS, cold=True)
        self._report.add("first_answer_ms", warm, at_most(50))
        self._report.add("first_answer_cold_ms", cold, peer="the cache file not in memory")

    def _peer_rate(self, binary: Binary, addresses: npt.NDArray[np.uint64]) -> float:
        """Addresses per CPU second of llvm-symbolizer once it has read the file; NaN if it is not installed."""
        if self._llvm is None:
            return math.nan
        few, many = _LLVM_STARTS // 10, min(_LLVM_STARTS, TIMED_OTHERS[self._size])
        if binary.name == BIG:
            few, many = _LLVM_STARTS, TIMED_LLVM[self._size]
        self._step(f"{binary.name}: llvm-symbolizer")
        one = peers.run_llvm(self._llvm, binary.debug, addresses[:few].tolist(), _LLVM_CPU_S)
        other = peers.run_llvm(self._llvm, binary.debug, addresses[-many:].tolist(), _LLVM_CPU_S)
        if binary.name == BIG:
            self._llvm_rss_mib = other.peak_rss_mib
        if one.stopped or other.stopped:
            return math.nan
        return (many - few) / max(other.cpu_s - one.cpu_s, 1e-3)

    def _speed(self, binary: Binary, cost: engine.Cost, took: dict[str, float], peer: float) -> None:
        report, suffix = self._report, "" if binary.name == BIG else f"_{binary.name}"
        if binary.name == BIG:
            speedup = took["per_s"] / peer if math.isfinite(peer) else "llvm-symbolizer is not installed"
            report.add("speedup_vs_llvm", speedup, at_least(100))
        report.add(
            f"addresses_per_s{suffix}",
            round(took["per_s"]),
            peer=f"llvm-symbolizer {peer:,.0f}" if math.isfinite(peer) else "",
        )
        report.add(f"build_cpu_s{suffix}", cost.cpu_s, peer=binary.what)
        report.note(f"source_gib_{binary.name}", round(cost.source_gib, 3))
        if binary.name == BIG:
            report.add(
                "addresses_per_s_cold", round(took["cold_per_s"]), peer="10,000 with opening and all names"
            )
            report.add("names_per_s", round(took["names_per_s"]), peer="distinct frames, demangled")
            report.add(
                "peak_rss_mib",
                took["rss_mib"],
                peer=f"10,000 addresses; llvm-symbolizer {self._llvm_rss_mib:,.0f}",
            )
            report.add("peak_rss_mib_1m", took["all_rss_mib"], peer="a million random addresses")
            report.add("build_peak_rss_mib", cost.peak_rss_mib)
            report.add("cache_mib", cost.cache_mib)

    def _agreement(self, binary: Binary, cache: Path, addresses: npt.NDArray[np.uint64]) -> None:
        sample = addresses[: COMPARED[self._size]]
        key = f"identical_chains_{binary.name}"
        if self._llvm is None:
            return
        self._step(f"{binary.name}: comparing")
        ours = engine.answers(binary, cache, sample)
        llvm = peers.run_llvm(self._llvm, binary.debug, sample.tolist(), _LLVM_CPU_S)
        found = compare(llvm.answers, ours)
        few = sample[: ADDR2LINE_BIG if binary.name == BIG else ADDR2LINE[self._size]].tolist()
        beside = "addr2line is not installed"
        if peers.has_addr2line():
            gnu = peers.run_addr2line(binary.debug, few, _ADDR2LINE_CPU_S)
            rate = len(gnu.answers) / max(gnu.cpu_s, 1e-3)
            beside = f"addr2line {compare(llvm.answers, gnu.answers).share:.3f}, {rate:,.0f} addresses/s"
        self._report.add(
            key,
            found.share,
            at_least(_BARS.get(binary.name, _BAR)),
            peer=beside,
        )
        self._report.add(f"same_functions_{binary.name}", found.functions_share, peer=found.by_class())
        self._report.note(f"misses_{binary.name}", found.by_class())
        self._report.note(f"addresses_compared_{binary.name}", found.compared)
        self._shares[binary.name] = found.share
        self.examples[binary.name] = found
