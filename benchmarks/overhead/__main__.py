"""Cost of sampling for the sampled programs, and the resulting cost of the standing campaign for a fleet.

    make bench-overhead          # under five minutes; FULL=1: three times as long
    SIZE=smallest python -m benchmarks.overhead   # two programs for a second, one visit: does it work?

Real programs, one instance per CPU, count their own work while slices with and without sampling alternate in random
order (`slices.py`, `paired.py`). `cpu` is measured at ten times its default rate, since at the default rate the loss is
below the noise. The gateway's cost of a visit is its own CPU time, from the call that starts its server until the
server has ended. A little other load widens intervals but does not shift them. Other load above a twentieth of the CPUs
inflates the slowdowns (`cpus_had_by_programs` shows it).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from benchmarks.cpu_load import NoLoad, busy_machine
from benchmarks.cpu_time import tree_cpu_s
from benchmarks.gateway_process import GatewayFailed, Idling, running_gateway
from benchmarks.overhead import fleet
from benchmarks.overhead.programs import DidNotStart, installed, running
from benchmarks.overhead.slices import Measured, measure
from benchmarks.report import Report, at_most
from benchmarks.size import Size, chosen
from collector.default_campaign import DEFAULT_CAMPAIGN
from gateway.capture.capture_resources import CaptureResources
from gateway.capture.host import find_access
from gateway.errors import EventUnavailable
from gateway.options import build_parser
from gateway.perf.events import EVENTS
from gateway.settings import Limits, OwnProcesses

if TYPE_CHECKING:
    from collections.abc import Callable

_DENSER: Final = 10
_COMPUTING: Final = ("cpython", "node", "sqlite", "zlib", "openssl")
# Program with the most occurrences of each counted event.
_COUNTED: Final = (("context-switches", "switches"), ("page-faults", "pages"))
_BUDGET: Final = 0.01
_LINGERED_S: Final = 6.0
# Below this share of the CPUs, programs lose time to other processes, not only to sampling.
_QUIET: Final = 0.95
_TERMINATED: Final = 128 + signal.SIGTERM
_LOG_WIDTH: Final = 150


@dataclass(frozen=True, slots=True)
class Lengths:
    """Programs that run while `cpu` is sampled, seconds per case, number of visits, and idle seconds."""

    case_s: float = 15.0
    visits: int = 3
    idle_s: float = 15.0
    computing: tuple[str, ...] = _COMPUTING


LENGTHS: Final = {
    Size.SMALLEST: Lengths(case_s=1.2, visits=1, idle_s=1.0, computing=_COMPUTING[:1]),
    Size.DEFAULT: Lengths(),
    Size.FULL: Lengths(case_s=45.0),
}


@dataclass(frozen=True, slots=True)
class VisitCost:
    """CPU of one gateway: seconds per visit including its lingering, and per idle second."""

    visits_s: tuple[float, ...]
    starts_s: tuple[float, ...]
    captures_s: tuple[float, ...]
    samples: int
    idle_s_per_s: float
    lingering_s_per_s: float


def measure_visits(folder: Path, lengths: Lengths, step: Callable[[str], None]) -> VisitCost:
    """Visits of the standing campaign to a gateway on a busy machine. Raises GatewayFailed and NoLoad."""
    event = DEFAULT_CAMPAIGN.events[0]
    seconds, rate = event.duration_ms / 1000, event.rate_hz
    assert rate is not None
    stays_s = build_parser().get_default("idle_seconds")
    spent, starts, captures, lingering, samples = [], [], [], [], 0
    with busy_machine(), running_gateway(folder / "visited", idle_seconds=_LINGERED_S) as gateway:
        gateway.wait_until_alone()
        step("an idle gateway")
        idle = Idling(gateway).finish(at_least_s=lengths.idle_s) / 1000
        for number in range(lengths.visits):
            step(f"visit {number + 1} of {lengths.visits}")
            before = tree_cpu_s(gateway.pid)
            gateway.call()
            starts.append(tree_cpu_s(gateway.pid) - before)
            captured = gateway.capture(seconds, rate)
            captures.append(captured.cpu_s)
            samples = max(samples, captured.samples)
            waiting = Idling(gateway)
            lingering.append(waiting.finish(at_least_s=_LINGERED_S * 0.8) / 1000)
            gateway.wait_until_alone()
            whole = tree_cpu_s(gateway.pid) - before
            spent.append(whole + lingering[-1] * max(0.0, stays_s - _LINGERED_S))
    return VisitCost(tuple(spent), tuple(starts), tuple(captures), samples, idle, median(lingering))


def measure_events(
    folder: Path, lengths: Lengths, step: Callable[[str], None]
) -> tuple[list[Measured], list[str]]:
    """Measure every program and event; also returns sentences about unavailable ones."""
    resources = CaptureResources(find_access(OwnProcesses.NEVER), Limits(), {})
    rate = DEFAULT_CAMPAIGN.events[0].rate_hz
    assert rate is not None
    cases = [("cpu", program, round(1e9 / rate / _DENSER)) for program in lengths.computing]
    for event, program in _COUNTED:
        period = EVENTS[event].default_period
        cases += [(event, program, period), (event, program, max(1, period // _DENSER))]
    found, missing = [], []
    for event, program, period in cases:
        step(f"{program}: {event} every {period:,}")
        if not installed(program):
            missing.append(f"{program} is not installed")
            continue
        try:
            with running(program, folder) as busy:
                found.append(measure(resources, busy, EVENTS[event], period, seconds=lengths.case_s))
        except (EventUnavailable, DidNotStart) as reason:
            missing.append(str(reason))
    return found, missing


def report(found: list[Measured], visit: VisitCost, missing: list[str]) -> Report:
    """The figures with their bars (the performance we promise)."""
    results = Report("overhead", peer="how")
    event = DEFAULT_CAMPAIGN.events[0]
    assert event.rate_hz is not None
    campaign = fleet.Visits(
        DEFAULT_CAMPAIGN.visits_per_round * fleet.DAY_S / DEFAULT_CAMPAIGN.period_s,
        event.duration_ms / 1000,
        event.rate_hz,
    )
    timed = [case for case in found if case.event == "cpu"]
    worst = max(timed, key=lambda case: case.slowdown.upper)
    kernel_us = [_kernel_us(case, case.kernel.value) for case in timed]
    kernel_upper_us = max(_kernel_us(case, case.kernel.upper) for case in timed)
    costs = fleet.Costs(
        cpus=len(os.sched_getaffinity(0)),
        idle_s_per_s=visit.idle_s_per_s,
        visit_s=median(visit.visits_s),
        kernel_s_per_sample=max(0.0, kernel_upper_us) / 1e6,
        samples_per_visit=visit.samples,
    )
    results.add(
        "fleet_average_overhead",
        costs.share(campaign),
        at_most(1e-4),
        peer=f"{campaign.per_machine_and_day:.2f} visits of {campaign.seconds:g} s a machine and day",
    )
    for key, spread in (("rel_halfwidth_1pct_day", 1.0), ("rel_halfwidth_1pct_day_on_third", 0.3)):
        results.add(
            key,
            fleet.relative_halfwidth(campaign, spread=spread, cpus=costs.cpus),
            at_most(0.10) if spread == 1.0 else None,
            peer=f"{campaign.per_day:.0f} visits, {fleet.MACHINES} machines, {spread:.0%} run the function",
        )
    results.add(
        "slowdown_at_10x_rate_upper",
        worst.slowdown.upper,
        at_most(_BUDGET * _DENSER),
        peer=f"{worst.program}; a tenth of it at {event.rate_hz:g} Hz must be ≤ {_BUDGET:.0%}",
    )
    results.add(
        "slowdown_at_10x_rate", median(case.slowdown.value for case in timed), peer="median of programs"
    )
    results.add(
        "cpu_hz_at_1pct", min(_at_budget(case) for case in timed), peer="by the upper limit of the worst"
    )
    results.add("kernel_us_per_sample", median(kernel_us), peer="in the sampled program's own CPU time")
    results.add("kernel_us_per_sample_upper", kernel_upper_us)
    results.add(
        "reading_us_per_sample", median(case.reading_us for case in timed), peer="reading and unwinding"
    )
    results.add("visit_cpu_ms", costs.visit_s * 1000, peer="start, capture, lingering until the server ends")
    results.add("visit_start_cpu_ms", median(visit.starts_s) * 1000)
    results.add("visit_capture_cpu_ms", median(visit.captures_s) * 1000, peer=f"{visit.samples} samples")
    results.add("lingering_cpu_ms_per_s", visit.lingering_s_per_s * 1000)
    results.add("idle_cpu_ms_per_s", visit.idle_s_per_s * 1000)
    results.add(
        "machines_at_budget",
        fleet.MACHINES * costs.share(campaign) / 1e-4,
        peer="fleets with fewer such machines pay more than 0.01 %",
    )
    for case in found:
        if case.event != "cpu":
            key = f"{case.event.replace('-', '_')}_{case.period}"
            results.add(f"{key}_slowdown_upper", case.slowdown.upper, peer=case.program)
            results.add(
                f"{key}_per_s_at_1pct",
                _at_budget(case),
                peer="of these a second and CPU, with this period, cost 1 %",
            )
    results.add(
        "cpus_had_by_programs",
        min(case.cpus_had for case in found if case.event == "cpu"),
        peer=f"of {_cpus()}: below {_QUIET * _cpus():.2g} others worked too, and slowdowns are too high",
    )
    results.note("pairs", min(case.slowdown.pairs for case in found))
    results.note("spread_of_a_pair", round(median(case.slowdown.spread for case in found), 4))
    results.note("missing", "; ".join(missing))
    return results


def _kernel_us(case: Measured, loss: float) -> float:
    """Kernel's µs per sample: the CPU time lost, divided by the samples taken."""
    return loss * _cpus() / case.samples_per_s * 1e6


def _at_budget(case: Measured) -> float:
    """Occurrences per second and CPU at which the upper limit of the loss is 1 %; Hz for `cpu`."""
    pace = case.samples_per_s / _cpus() * (1 if case.event == "cpu" else case.period)
    return float(f"{pace * _BUDGET / max(case.slowdown.upper, 1e-4):.3g}")


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


def _table(found: list[Measured]) -> Table:
    table = Table(
        title="slowdown of programs by event and period", title_justify="left", box=None, pad_edge=False
    )
    for heading in ("event", "period"):
        table.add_column(heading)
    table.add_column("program")
    for heading in (
        "samples/s",
        "loss",
        "≤ (95 %)",
        "± of a pair",
        "pairs",
        "kernel µs",
        "reading µs",
        "1 % at",
    ):
        table.add_column(heading, justify="right")
    for case in found:
        loss = case.slowdown
        table.add_row(
            case.event,
            f"{case.period:,}",
            case.program,
            f"{case.samples_per_s:,.0f}",
            f"{loss.value:.2%}",
            f"{loss.upper:.2%}",
            f"{loss.spread:.1%}",
            str(loss.pairs),
            f"{_kernel_us(case, case.kernel.value):.1f}",
            f"{case.reading_us:.1f}",
            f"{_at_budget(case):,.0f}" + (" Hz" if case.event == "cpu" else "/s"),
        )
    return table


def main() -> int:
    """Measure, print, write results/overhead.json. The exit status is 0 if the measurement succeeded."""
    argparse.ArgumentParser(
        prog="python -m benchmarks.overhead",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    ).parse_args()
    lengths = LENGTHS[chosen()]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_TERMINATED))
    console = Console()
    if not console.is_terminal:
        console.width = _LOG_WIDTH
    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="bench-overhead-") as folder,
            Progress(*columns, console=Console(stderr=True), transient=True) as progress,
        ):
            steps = len(lengths.computing) + 2 * len(_COUNTED) + lengths.visits + 1
            task = progress.add_task("starting", total=steps)

            def step(what: str) -> None:
                progress.update(task, description=what, advance=1)

            found, missing = measure_events(Path(folder), lengths, step)
            visit = measure_visits(Path(folder), lengths, step)
    except (GatewayFailed, NoLoad) as reason:
        console.print(f"bench-overhead: {reason}")
        return 1
    console.print(_table(found))
    console.print()
    results = report(found, visit, missing)
    results.show(console)
    for sentence in missing:
        console.print(sentence, markup=False)
    console.print(f"\n{results.written()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
