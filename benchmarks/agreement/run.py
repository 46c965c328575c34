"""One window in which both sides profile the same programs, and all comparisons of it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from benchmarks.agreement import peer, views
from benchmarks.agreement.names import Function, Namer
from benchmarks.agreement.shares import Comparison, Counted, Shares, compare, overlap, top

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from benchmarks.agreement.product import Product, VisitResult
    from benchmarks.agreement.programs import Program

STACK_BYTES: Final = 16384
BOTH_WHOLE: Final = 0.99
"""Totals are compared where this share of both sides' stacks reaches the thread's start."""
SELF: Final = "self"
SELF_BY_FRAME_POINTER: Final = "self (-g)"
TOTAL: Final = "total"
PRESENCE: Final = "samples"


@dataclass(frozen=True, slots=True)
class Seen:
    """A program's profile by perf, with unwind tables and with frame pointers, and by the product."""

    program: Program
    dwarf: Shares
    frame_pointer: Shares
    ours: Shares

    @property
    def totals_comparable(self) -> bool:
        """Whether both sides found nearly all callers; otherwise totals cannot be equal."""
        return min(self.dwarf.rooted, self.ours.rooted) >= BOTH_WHOLE

    @property
    def overlap(self) -> float:
        """Share of the ten hottest functions that both sides have in common."""
        return overlap(top(self.dwarf.own), top(self.ours.own))


@dataclass(frozen=True, slots=True)
class Window:
    """Profiles of one window."""

    seen: list[Seen]
    comparisons: list[Comparison]
    perf_with_itself: list[Comparison]
    """Self in perf's two recordings: the expected difference of two samples of the same seconds."""
    perf_samples: int
    our_samples: int
    perf_lost: int
    our_lost: int


def look(product: Product, programs: Sequence[Program], folder: Path, seconds: float, rate_hz: int) -> Window:
    """Run the programs and profile them with both sides. Raises PerfUnusable, ProductFailed."""
    recordings = folder / "dwarf.data", folder / "frame-pointer.data"
    running: list[subprocess.Popen[bytes]] = []
    with ExitStack() as stack:
        running.extend(
            _start(program, stack) for program in programs if program.command and not program.starts_late
        )
        with (
            peer.recording(recordings[0], rate_hz, "--call-graph", f"dwarf,{STACK_BYTES}"),
            peer.recording(recordings[1], rate_hz, "-g"),
        ):
            visited = product.visit(seconds, rate_hz, _at_half_time(programs, stack, running))
        # They still exist, but release the CPUs to the reading of the recordings, which takes longer than recording.
        for process in running:
            os.killpg(process.pid, signal.SIGSTOP)
        product.ingest(visited)
        return _compared(product, visited, programs, recordings)


def _start(program: Program, stack: ExitStack) -> subprocess.Popen[bytes]:
    # A session of its own, so that its children are stopped and ended with it.
    process = subprocess.Popen(
        program.command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    stack.callback(process.wait)
    stack.callback(os.killpg, process.pid, signal.SIGKILL)
    return process


def _at_half_time(
    programs: Sequence[Program], stack: ExitStack, running: list[subprocess.Popen[bytes]]
) -> Callable[[float, int], None]:
    waiting = [program for program in programs if program.starts_late]

    def on_progress(done: float, _samples: int) -> None:
        while waiting and done >= 0.5:
            running.append(_start(waiting.pop(), stack))

    return on_progress


def _compared(
    product: Product, visited: VisitResult, programs: Sequence[Program], recordings: tuple[Path, Path]
) -> Window:
    namer = Namer({program.original: program.comm for program in programs if program.original})
    comms = [comm for program in programs for comm in (program.comm, *program.also)]
    spans = visited.spans
    dwarf, frame_pointer = (peer.samples(path, comms=comms, between=spans) for path in recordings)
    namer.learn({frame for sample in (*dwarf, *frame_pointer) for frame in sample.frames})
    seen = []
    for program in programs:
        select = f'{{application="{program.application}"}}'
        table, flame = product.table(visited, select), product.flame(visited, select)
        roots = views.roots(flame, namer)
        names = {program.comm, *program.also}
        seen.append(
            Seen(
                program,
                views.of_perf([sample for sample in dwarf if sample.comm in names], namer, roots),
                views.of_perf([sample for sample in frame_pointer if sample.comm in names], namer, roots),
                views.of_product(table, flame, namer, visited.period),
            )
        )
    running = peer.running(recordings[1], between=spans)
    whole = product.table(visited, "{}", ("application",)).totals.samples
    return Window(
        seen=seen,
        comparisons=[
            *(comparison for one in seen for comparison in _functions(one)),
            *_presence(seen, running, whole),
        ],
        perf_with_itself=[
            comparison
            for one in seen
            for comparison in _hottest(
                one.program.application,
                "perf",
                (one.dwarf.own, one.dwarf.samples),
                (one.frame_pointer.own, one.frame_pointer.samples),
            )
        ],
        perf_samples=sum(one.dwarf.samples for one in seen),
        our_samples=sum(one.ours.samples for one in seen),
        perf_lost=sum(map(peer.lost, recordings)),
        our_lost=visited.lost,
    )


def _functions(seen: Seen) -> list[Comparison]:
    """The hottest functions of either side, by self and, if comparable, by total."""
    name, ours = seen.program.application, (seen.ours.own, seen.ours.samples)
    found = _hottest(name, SELF, (seen.dwarf.own, seen.dwarf.samples), ours)
    found += _hottest(name, SELF_BY_FRAME_POINTER, (seen.frame_pointer.own, seen.frame_pointer.samples), ours)
    if seen.totals_comparable:
        whole = (seen.ours.whole, seen.ours.samples)
        found += _hottest(name, TOTAL, (seen.dwarf.whole, seen.dwarf.samples), whole)
    return found


def _hottest(program: str, measure: str, theirs: Counted, own: Counted) -> list[Comparison]:
    if not theirs[1] or not own[1]:
        return []
    return compare(program, measure, theirs, own, dict.fromkeys([*top(theirs[0]), *top(own[0])]))


def _presence(seen: Sequence[Seen], running: Counter[str], whole: int) -> list[Comparison]:
    """Share of each program in all samples: the label must select the same samples as the kernel's name."""
    found = []
    for one in seen:
        name = Function(one.program.application, "")
        theirs = Counter({name: sum(running[comm] for comm in (one.program.comm, *one.program.also))})
        found += compare(
            name.name, PRESENCE, (theirs, running.total()), (Counter({name: one.ours.samples}), whole), [name]
        )
    return found
