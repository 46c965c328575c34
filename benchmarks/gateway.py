"""Cost and accuracy of the gateway's sampling, beside `perf record` in the same run.

    make bench-gateway          # under five minutes; FULL=1: three times as many rounds
    SIZE=smallest python -m benchmarks.gateway   # one round of a second: does it work?

Third-party programs keep all CPUs busy (`cpu_load.py`). CPU time is that of whole processes: the gateway's daemon with
its server, perf with its children; neither includes the kernel's work in its timer. Figures are medians over rounds in
which the gateway and perf alternate, so that other work on the machine affects both. The gateway starts its server on
the first call, so it is measured in three states: *idle*; *cold*, the first capture of a server, which starts, loads
its modules and reads each binary; *warm*, any later capture.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.cpu_load import Load, NoLoad, busy_machine
from benchmarks.cpu_time import tree_cpu_s
from benchmarks.gateway_process import Captured, GatewayFailed, GatewayProcess, Idling, running_gateway
from benchmarks.perf_record import DWARF, FRAME_POINTERS, Recorded, discard, record, version
from benchmarks.report import Report, at_least, at_most, exactly
from benchmarks.size import Size, chosen, skip
from benchmarks.unwind_agreement import Agreement, compare

if TYPE_CHECKING:
    from collections.abc import Callable

RATE_HZ: Final = 99
_OTHER_STEPS: Final = 6
"""Steps of the progress bar after the rounds of both gateways."""
_TERMINATED: Final = 128 + signal.SIGTERM


@dataclass(frozen=True, slots=True)
class Lengths:
    """Number and duration of all measurements; seconds."""

    rounds: int = 5
    capture_s: int = 5
    long_s: int = 30
    cold: int = 3
    idle_s: float = 20.0


LENGTHS: Final = {
    Size.SMALLEST: Lengths(rounds=1, capture_s=1, long_s=2, cold=1, idle_s=1.0),
    Size.DEFAULT: Lengths(),
    Size.FULL: Lengths(rounds=15),
}


@dataclass
class Findings:
    """All measurements of one run; CPU times in seconds, idle ones in ms per second."""

    agreement: Agreement = field(default_factory=Agreement)
    idle: list[float] = field(default_factory=list)
    lingering: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)
    cold: list[Captured] = field(default_factory=list)
    warm: list[Captured] = field(default_factory=list)
    dwarf: list[Recorded] = field(default_factory=list)
    dwarf_discarded: list[float] = field(default_factory=list)
    frame_pointers: list[float] = field(default_factory=list)
    long: list[tuple[Captured, Recorded]] = field(default_factory=list)
    peak_rss_mib: float = 0.0
    rings_mib: float = 0.0
    waiting_rss_mib: float = 0.0


class Benchmark:
    """One run under load. `step` is called with the name of the next step."""

    def __init__(self, load: Load, scratch: Path, step: Callable[[str], None], lengths: Lengths) -> None:
        self.found = Findings()
        self._lengths = lengths
        self._load = load
        self._scratch = scratch
        self._step = step

    def run(self) -> Findings:
        """Measure everything. Raises GatewayFailed and CalledProcessError."""
        lengths = self._lengths
        with ExitStack() as ending:
            self._step("an idle gateway")
            visited = ending.enter_context(running_gateway(self._scratch / "visited", idle_seconds=2.0))
            visited.wait_until_alone()
            self.found.waiting_rss_mib = visited.rss_mib()
            idling = Idling(visited)
            self._compare_unwinding()
            self.found.idle.append(idling.finish(at_least_s=lengths.idle_s))
            for number in range(lengths.cold):
                self._step(f"cold capture {number + 1}")
                self._take_cold(visited)
            # It stays idle while the other one is measured warm.
            idling = Idling(visited)
            kept = ending.enter_context(running_gateway(self._scratch / "kept", idle_seconds=600.0))
            self._step("warming up")
            source = kept.capture(lengths.capture_s, RATE_HZ).source
            for number in range(lengths.rounds):
                self._round(kept, source, f"round {number + 1} of {lengths.rounds}")
            self._step(f"{lengths.long_s} s of each")
            long = kept.capture(lengths.long_s, RATE_HZ)
            self.found.long.append((long, self._record("dwarf", source, lengths.long_s, DWARF)))
            self.found.idle.append(idling.finish(at_least_s=lengths.idle_s))
            self.found.peak_rss_mib = kept.peak_rss_mib()
            self.found.rings_mib = kept.rings_mib
        return self.found

    def _compare_unwinding(self) -> None:
        self._step("a recording by perf")
        self._record("unwound", "cpu-clock", self._lengths.capture_s, DWARF)
        self._step("its stacks, unwound by perf and by the gateway")
        # Other processes of this machine may have ended, and their code with them.
        self.found.agreement = compare(self._path("unwound"), pids=frozenset(self._load.pids))

    def _take_cold(self, gateway: GatewayProcess) -> None:
        before = tree_cpu_s(gateway.pid)
        gateway.call()
        self.found.starts.append(tree_cpu_s(gateway.pid) - before)
        self.found.cold.append(gateway.capture(self._lengths.capture_s, RATE_HZ))
        gateway.wait_until_alone()

    def _round(self, gateway: GatewayProcess, source: str, name: str) -> None:
        self._step(f"{name}: the gateway")
        self.found.warm.append(gateway.capture(self._lengths.capture_s, RATE_HZ))
        lingering = Idling(gateway)
        self._step(f"{name}: perf, stacks copied")
        self.found.dwarf.append(self._record("dwarf", source, self._lengths.capture_s, DWARF))
        self._step(f"{name}: perf, stacks copied and discarded")
        self.found.dwarf_discarded.append(discard(source, self._lengths.capture_s, RATE_HZ, DWARF))
        self._step(f"{name}: perf, frame pointers")
        self.found.frame_pointers.append(
            self._record("fp", source, self._lengths.capture_s, FRAME_POINTERS).cpu_s
        )
        self.found.lingering.append(lingering.finish())

    def _record(self, name: str, source: str, seconds: float, how: tuple[str, ...]) -> Recorded:
        return record(self._path(name), source, seconds, RATE_HZ, how)

    def _path(self, name: str) -> Path:
        return self._scratch / f"{name}.data"


def report(found: Findings, load: Load, lengths: Lengths) -> Report:
    """The figures with their bars (the performance we promise)."""
    results = Report("gateway", peer="perf record")
    cpus = len(os.sched_getaffinity(0))
    warm = median(captured.cpu_s for captured in found.warm)
    perf = median(recorded.cpu_s for recorded in found.dwarf)
    discarded, chains = median(found.dwarf_discarded), median(found.frame_pointers)
    perf_per_1000 = median(recorded.cpu_s * 1e6 / recorded.samples for recorded in found.dwarf)
    results.add(
        "cpu_ms_per_1000_samples",
        median(captured.cpu_ms_per_1000_samples for captured in found.warm),
        at_most(30),
        peer=f"{perf_per_1000:.0f}, and nothing is unwound yet",
    )
    results.add("cpu_ms", warm * 1000, peer=f"{perf * 1000:.0f} with {' '.join(DWARF)}")
    results.add("cpu_ratio_vs_perf", warm / perf, at_most(0.33))
    results.add(
        "cpu_ratio_vs_perf_discarding", warm / discarded, peer=f"{discarded * 1000:.0f} ms into /dev/null"
    )
    results.add(
        "cpu_ratio_vs_perf_g", warm / chains, peer=f"{chains * 1000:.0f} ms with -g, frame pointers only"
    )
    long, long_perf = found.long[0]
    results.add(
        f"cpu_ratio_vs_perf_{lengths.long_s}s",
        long.cpu_s / long_perf.cpu_s,
        peer=f"{long_perf.cpu_s * 1000:.0f} ms; ours {long.cpu_s * 1000:.0f} ms",
    )
    cold = median(start + captured.cpu_s for start, captured in zip(found.starts, found.cold, strict=True))
    results.add("cpu_ms_cold", cold * 1000, peer="starts anew each time: as above")
    results.add("cpu_ms_start", median(found.starts) * 1000)
    results.add("cpu_ratio_vs_perf_cold", cold / perf)
    pairs = zip(found.warm, found.dwarf, strict=True)
    results.add(
        "samples_vs_perf",
        median(ours.rate_hz / theirs.rate_hz for ours, theirs in pairs),
        at_least(0.98),
        peer=f"{median(recorded.rate_hz for recorded in found.dwarf):.2f} Hz on each CPU",
    )
    captures = [*found.cold, *found.warm, long]
    recordings = [*found.dwarf, long_perf]
    results.add(
        "lost",
        sum(captured.lost for captured in captures),
        exactly(0),
        peer=str(sum(recorded.lost for recorded in recordings)),
    )
    results.add("samples", sum(captured.samples for captured in captures))
    results.add("thinned_captures", sum(bool(captured.changes) for captured in captures))
    results.add(
        "rss_mib",
        found.peak_rss_mib,
        at_most(64),
        peer=f"{max(recorded.peak_rss_mib for recorded in found.dwarf):.1f}",
    )
    results.add("rss_mib_per_cpu", found.rings_mib / cpus, peer="of these, for the ring of each CPU")
    results.add("rss_mib_idle", found.waiting_rss_mib)
    results.add(
        "bytes_per_sample",
        median(captured.compressed_bytes / captured.samples for captured in found.warm),
        at_most(40),
        peer="16 KiB of stack memory",
    )
    results.add("idle_cpu_ms_per_s", max(found.idle), at_most(0.1))
    results.add("lingering_cpu_ms_per_s", median(found.lingering), peer="for 60 s after a visit")
    agreed = found.agreement
    results.add(
        "unwind_identical_or_longer",
        agreed.identical_or_longer,
        at_least(0.995),
        peer=f"{agreed.identical} of {agreed.stacks} stacks identical",
    )
    results.add("unwind_wrong", agreed.wrong, exactly(0), peer=f"{agreed.perf_wrong} proved wrong")
    results.add("unwind_perf_longer", agreed.perf_longer)
    results.add("unwind_extra_callers", agreed.extra_callers, peer="callers that only the gateway found")
    results.note("unwind_extra_callers_unchecked", agreed.extra_callers_unchecked)
    results.note("frames_per_stack", round(median(captured.frames_per_stack for captured in found.warm), 1))
    results.note("unwind_stacks", agreed.stacks)
    results.note("load", ", ".join(load.names))
    results.note("rounds", len(found.warm))
    results.note("perf_version", version())
    return results


def main() -> int:
    """Measure, print, write results/gateway.json. The exit status is 0 if the measurement succeeded."""
    argparse.ArgumentParser(
        prog="python -m benchmarks.gateway",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    # Exit normally on SIGTERM, so that the load ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    console = Console()
    lengths = LENGTHS[chosen()]
    if shutil.which("perf") is None:
        skip("perf, which it compares with, is not installed (Debian: linux-perf)")
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="bench-gateway-") as folder,
            busy_machine() as load,
            Progress(*columns, console=Console(stderr=True), transient=True) as progress,
        ):
            task = progress.add_task("starting", total=_OTHER_STEPS + lengths.cold + 4 * lengths.rounds)

            def step(what: str) -> None:
                progress.update(task, description=what, advance=1)

            found = Benchmark(load, Path(folder), step, lengths).run()
    except (GatewayFailed, NoLoad) as reason:
        console.print(f"bench-gateway: {reason}")
        return 1
    except subprocess.CalledProcessError as failed:
        console.print(f"bench-gateway: {' '.join(failed.cmd)}: {failed.stderr}")
        return 1
    results = report(found, load, lengths)
    results.show(console)
    console.print(f"\n{results.written()}")
    for example in found.agreement.examples:
        console.print(example, markup=False, style="dim")
    return 0


if __name__ == "__main__":
    sys.exit(main())
