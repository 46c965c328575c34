"""The slowdown of applications at lower frequencies, from the fleet's own samples (DIGEST D1-D8).

A visit gives the CPU time of an application, the frequency of the machine's busy CPUs meanwhile, and, by samples of
`llc-misses`, the number of its memory accesses. The cost of a miss is calibrated by platform (`storage.calibrations`).
"""

from collections.abc import Callable
from dataclasses import dataclass

from analysis.dvfs import memory
from analysis.dvfs.frequency_model import LIMITS
from analysis.dvfs.visit_sums import sensitivity
from analysis.errors import NotEstimable
from storage.errors import BadSelection
from storage.query.answers.figures import figure
from storage.query.answers.frequency import FrequencyAnswer, FrequencyRow
from storage.query.answers.inputs import Unavailable, left_out
from storage.query.facts.selection_echo import inputs_of, machine_selection_echo
from storage.query.models.apu import coefficient
from storage.query.models.frequency_inputs import FrequencyInputs, read_frequency_inputs
from storage.query.models.frequency_options import USUAL, Wanted, memory_of
from storage.query.models.frequency_sums import ApplicationSums, read_application_sums
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget

MOST_APPLICATIONS = 1_000


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
        rows: list[FrequencyRow] = []
        rows_total = 0
        if unavailable is None and base is not None:
            sums = read_application_sums(reading, self.selection, found, base).of(_chosen(self.selection))
            rows_total = len(sums)
            rows = [_row(self.wanted, sums, place, base) for place in range(min(rows_total, self.limit))]
        return FrequencyAnswer(
            selection=machine_selection_echo(self.selection),
            base_mhz=base,
            performance=self.wanted.performance,
            memory=memory_of(self.wanted.memory),
            rows=tuple(rows),
            rows_total=rows_total,
            latencies=tuple(map(coefficient, found.latencies)),
            limits=(*LIMITS, *(memory.LIMITS if self.wanted.memory else ())),
            left_out=left_out(found.left_out),
            inputs=inputs_of(found.visits.coverage, len(found.visits), int(found.usable.sum())),
            because=unavailable,
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


def _row(wanted: Wanted, sums: ApplicationSums, place: int, base: float) -> FrequencyRow:
    query_budget.checkpoint()
    name, seconds, visits = sums.names[place], float(sums.seconds[place]), int(sums.visits[place])
    try:
        model = sensitivity(sums.sums_of(place), sums.cells, sums.weights, base * 1e6)
        slowdowns = wanted.slowdowns(model, base)
    except NotEstimable as error:
        return FrequencyRow(
            application=name,
            cpu_seconds=seconds,
            visits=visits,
            off_chip=None,
            slowdowns=(),
            lowest_mhz=None,
            lowest_at_memory_mhz=None,
            lowest_at_memory_because=None,
            low_confidence=True,
            because=Unavailable(error.reason, str(error)),
        )
    lowest, unavailable = wanted.lowest(model)
    other, other_unavailable = wanted.lowest_at_memory(model)
    return FrequencyRow(
        application=name,
        cpu_seconds=seconds,
        visits=model.visits,
        off_chip=figure(model.off_chip_share),
        slowdowns=slowdowns,
        lowest_mhz=figure(lowest),
        lowest_at_memory_mhz=figure(other),
        lowest_at_memory_because=other_unavailable,
        low_confidence=model.low_confidence,
        because=unavailable,
    )
