"""The slowdown of applications at lower frequencies, from the fleet's own samples (DIGEST D1-D8).

A visit gives the CPU time of an application, the frequency of the machine's busy CPUs meanwhile, and, by samples of
`llc-misses`, the number of its memory accesses. The cost of a miss is calibrated by platform (`storage.calibrations`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from analysis.dvfs import memory
from analysis.dvfs.frequency_model import LIMITS
from analysis.dvfs.memory import MemoryChange
from analysis.dvfs.visit_sums import sensitivity
from analysis.errors import NotEstimable
from analysis.measured import Measured
from storage.calibrations import Calibration
from storage.errors import BadSelection
from storage.query.models.frequency_inputs import FrequencyInputs, read_frequency_inputs
from storage.query.models.frequency_options import USUAL, Wanted
from storage.query.models.frequency_sums import ApplicationSums, read_application_sums
from storage.query.models.no_answer import Inputs, Unavailable
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget

MOST_APPLICATIONS = 1_000


@dataclass(frozen=True, slots=True)
class FrequencyRow:
    """One application."""

    application: str
    cpu_seconds: float
    """CPU time of the fleet in the covered time, from the usable visits."""
    visits: int
    off_chip: Measured | None
    """Share of its time at the base frequency that waits for memory; None, like the next ones: see `unavailable`."""
    slowdowns: tuple[Measured, ...]
    """Time ratio − 1 at each of the answer's frequencies."""
    at_memory: tuple[Measured, ...]
    """The same with the requested frequency of the memory; () if none was requested."""
    lowest_mhz: Measured | None
    """Lowest frequency that keeps the requested performance; `hi` is ∞ if an end of the interval has none."""
    lowest_at_memory_mhz: Measured | None
    """The same with the requested frequency of the memory."""
    low_confidence: bool
    unavailable: Unavailable | None
    unavailable_at_memory: Unavailable | None = None
    """The reason why there is no lowest frequency with that memory, if one was requested and there is a model."""


@dataclass(frozen=True, slots=True)
class FrequencyAnswer:
    """The applications with most CPU time, or the reason why there are none."""

    base_mhz: float | None
    frequencies_mhz: tuple[float, ...]
    naive: tuple[float, ...]
    """Slowdowns at these frequencies if all time were on the chip."""
    performance: float
    change: MemoryChange | None
    """Change of the memory's frequency, if one was requested."""
    rows: tuple[FrequencyRow, ...]
    rows_total: int
    latencies: tuple[Calibration, ...]
    limits: tuple[str, ...]
    """The limits of the model."""
    inputs: Inputs
    left_out: Mapping[str, int]
    """Unusable visits, by cause."""
    unavailable: Unavailable | None


@dataclass(frozen=True, slots=True)
class FrequencyQuestion:
    """Slowdowns at some frequencies, and the lowest frequency that keeps a given performance."""

    selection: Selection
    wanted: Wanted = USUAL
    """Without a base frequency, the mean frequency of the visits' busy CPUs is used."""
    latency_ns: float | None = None
    """Cost of a miss on platforms without a calibrated one; None: these are left out."""
    limit: int = 20

    def answer(self, reading: StoreReading) -> FrequencyAnswer:
        """The slowdowns. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        found = read_frequency_inputs(reading, self.selection, self.latency_ns)
        unavailable = _why_unavailable(found)
        base = self.wanted.base_mhz
        if base is None and unavailable is None:
            base = found.base_mhz
        grid = self.wanted.frequencies_mhz if base is None else self.wanted.grid(base)
        rows: list[FrequencyRow] = []
        rows_total = 0
        if unavailable is None and base is not None:
            sums = read_application_sums(reading, self.selection, found, base).of(_chosen(self.selection))
            rows_total = len(sums)
            rows = [_row(self, sums, place, base, grid) for place in range(min(rows_total, self.limit))]
        return FrequencyAnswer(
            base_mhz=base,
            frequencies_mhz=grid,
            naive=() if base is None else tuple(base / mhz - 1 for mhz in grid),
            performance=self.wanted.performance,
            change=self.wanted.memory,
            rows=tuple(rows),
            rows_total=rows_total,
            latencies=found.latencies,
            limits=(*LIMITS, *(memory.LIMITS if self.wanted.memory else ())),
            inputs=Inputs(found.visits.coverage, len(found.visits), int(found.usable.sum())),
            left_out=found.left_out,
            unavailable=unavailable,
        )


def _check(question: FrequencyQuestion) -> None:
    if question.latency_ns is not None and not 1 <= question.latency_ns <= 10_000:
        raise BadSelection(
            "The latency of a miss must be from 1 to 10000 ns.", hint="latency_ns=90, for example."
        )


def _why_unavailable(found: FrequencyInputs) -> Unavailable | None:
    if not len(found.visits):
        return Unavailable("too_little", "No visit of the selection has been ingested.")
    if found.visits.weights is None:
        return Unavailable(
            "not_random", "Visits by hand are not a random sample, so they give no fleet estimates."
        )
    if not found.usable.any():
        why = max(found.left_out, key=found.left_out.__getitem__)
        return Unavailable(
            "too_little",
            f"No visit has all the needed data. Most frequent reason: {why}. Sample llc-misses beside "
            "cpu, and run: fleetprof calibrate memory.",
        )
    return None


def _chosen(selection: Selection) -> Callable[[str], bool]:
    """A test for applications that match the selection."""
    tests = [
        (matcher.positive(), matcher.operator.negative)
        for matcher in selection.matchers
        if matcher.label == APPLICATION
    ]
    return lambda name: all(test(name) != negative for test, negative in tests)


def _row(
    question: FrequencyQuestion,
    sums: ApplicationSums,
    place: int,
    base: float,
    grid: tuple[float, ...],
) -> FrequencyRow:
    query_budget.checkpoint()
    name, seconds, visits = sums.names[place], float(sums.seconds[place]), int(sums.visits[place])
    try:
        model = sensitivity(sums.sums_of(place), sums.cells, sums.weights, base * 1e6)
        slowdowns = tuple(model.slowdown(mhz * 1e6) for mhz in grid)
    except NotEstimable as error:
        because = Unavailable(error.reason, str(error))
        return FrequencyRow(name, seconds, visits, None, (), (), None, None, True, because)
    wanted = question.wanted
    lowest, unavailable = wanted.lowest(model)
    at_memory: tuple[Measured, ...] = ()
    if wanted.memory is not None:
        at_memory = tuple(model.slowdown(mhz * 1e6, wanted.memory.waiting) for mhz in grid)
    other, other_unavailable = wanted.lowest_at_memory(model)
    return FrequencyRow(
        name,
        seconds,
        model.visits,
        model.off_chip_share,
        slowdowns,
        at_memory,
        lowest,
        other,
        model.low_confidence,
        unavailable,
        other_unavailable,
    )
