"""How much longer applications would take at lower frequencies, from the fleet's own samples (DIGEST D1-D8).

A visit says how long an application ran, at which frequency the machine's busy CPUs ran meanwhile, and by samples of `llc-misses`
how often it went to memory; what a miss costs is a figure of the platform (`storage.calibrations`).
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
from storage.query.observed.machines import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget

MOST_APPLICATIONS = 1_000


@dataclass(frozen=True, slots=True)
class FrequencyRow:
    """One application."""

    application: str
    cpu_seconds: float
    """Of the fleet in the covered time, by the visits that the model can use."""
    visits: int
    off_chip: Measured | None
    """Share of its time at the base frequency that waits for memory; None: `unavailable` says why, as for the next two."""
    slowdowns: tuple[Measured, ...]
    """Time ratio − 1 at each of the answer's frequencies."""
    at_memory: tuple[Measured, ...]
    """The same with the asked frequency of the memory; () where none was asked for."""
    lowest_mhz: Measured | None
    """Lowest frequency that keeps the wanted performance; `hi` is ∞ where an end of the interval has none."""
    lowest_at_memory_mhz: Measured | None
    """The same with the asked frequency of the memory."""
    low_confidence: bool
    unavailable: Unavailable | None
    unsaid_at_memory: Unavailable | None = None
    """Why there is no lowest with that memory, where one was asked for and there is a model."""


@dataclass(frozen=True, slots=True)
class FrequencyAnswer:
    """The applications with most CPU time, or why there is none."""

    base_mhz: float | None
    frequencies_mhz: tuple[float, ...]
    naive: tuple[float, ...]
    """Slowdowns at these if all time were on the chip."""
    performance: float
    change: MemoryChange | None
    """Of the memory's frequency, where another was asked for."""
    rows: tuple[FrequencyRow, ...]
    rows_total: int
    latencies: tuple[Calibration, ...]
    limits: tuple[str, ...]
    """What the model leaves out."""
    inputs: Inputs
    left_out: Mapping[str, int]
    """Visits that say nothing of it, by why."""
    unavailable: Unavailable | None


@dataclass(frozen=True, slots=True)
class FrequencyQuestion:
    """Slowdowns at some frequencies, and the lowest that keeps a performance."""

    selection: Selection
    wanted: Wanted = USUAL
    """Base None: the mean at which the busy CPUs of the visits ran."""
    latency_ns: float | None = None
    """Of a miss, for platforms that have no figure of their own; None: these are left out."""
    limit: int = 20

    def answer(self, reading: StoreReading) -> FrequencyAnswer:
        """The slowdowns. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        _check(self)
        found = read_frequency_inputs(reading, self.selection, self.latency_ns)
        unavailable = _unsaid(found)
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
        raise BadSelection("A miss takes between 1 and 10000 ns.", hint="latency_ns=90, for example.")


def _unsaid(found: FrequencyInputs) -> Unavailable | None:
    if not len(found.visits):
        return Unavailable("too_little", "No visit of the selection has been ingested.")
    if found.visits.weights is None:
        return Unavailable(
            "not_random", "Visits by hand are no random sample, so they say nothing of the fleet."
        )
    if not found.usable.any():
        why = max(found.left_out, key=found.left_out.__getitem__)
        return Unavailable(
            "too_little",
            f"No visit has all that is needed; of most, {why}. Sample llc-misses beside cpu, and run: fleetprof calibrate memory.",
        )
    return None


def _chosen(selection: Selection) -> Callable[[str], bool]:
    """Which applications the matchers leave."""
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
    other, other_unsaid = wanted.lowest_at_memory(model)
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
        other_unsaid,
    )
