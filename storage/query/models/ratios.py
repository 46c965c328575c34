"""Ratios of the fleet's counters, such as cycles per instruction, by application, platform and time (DIGEST G28).

A row's ratio is a ratio of sums over visits, with the weights, variance and interval of `analysis.ratios`. Visits of
machines that cannot count are not in the ratio; the answer gives their number and the causes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import starmap

import numpy as np

from analysis import ratios
from analysis.measured import Measured
from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.answers.figures import figure
from storage.query.answers.inputs import Inputs, Unavailable
from storage.query.answers.ratios import RatioAnswer, RatioRow
from storage.query.estimation.covered_time import HOUR_S
from storage.query.facts.selection_echo import inputs_of, machine_selection_echo
from storage.query.observed.counters import Counters, Pairs, read_failures
from storage.query.observed.machines import LABELS, MachineVisits, read_machine_visits
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.query.store_reading import StoreReading

MOST_ROWS = 10_000
MOST_STEPS = 1_000
KEYS = (APPLICATION, *LABELS)


@dataclass(frozen=True, slots=True)
class Derived:
    """A figure computed from two counters."""

    y: str
    x: str
    factor: float
    unit: str


DERIVED: Mapping[str, Derived] = {
    "cpi": Derived("cycles", "instructions", 1.0, "cycles per instruction"),
    "llc-mpki": Derived("llc-misses", "instructions", 1000.0, "misses per 1000 instructions"),
    "llc-miss-ratio": Derived("llc-misses", "llc-references", 1.0, "misses per reference"),
    "branch-mpki": Derived("branch-misses", "instructions", 1000.0, "mispredictions per 1000 instructions"),
    "branch-miss-ratio": Derived("branch-misses", "branches", 1.0, "mispredictions per branch"),
    "stall-ratio": Derived("memory-stalls", "cycles", 1.0, "cycles waiting for memory per cycle"),
    "relative-frequency": Derived("aperf", "mperf", 1.0, "of the nominal frequency"),
    "frequency": Derived("cycles", "task-clock", 1.0, "GHz while running"),
}
"""Ratios by their well-known names; any other ratio is written `counter/counter`."""


@dataclass(frozen=True, slots=True)
class CountedRatio:
    """One ratio, with open ends of its interval."""

    key: dict[str, str]
    start: int | None
    """Seconds since 1970 UTC at which the row's step begins; None without steps."""
    value: Measured | None
    """None: no visit counted it. `hi` is ∞ if only one visit has the row."""
    low_confidence: bool
    visits: int
    machines: int
    y: float
    """Estimate for the counted part of the covered time: without machines that cannot count, and by application only
    for counted control groups."""
    x: float
    """As `y`, for the denominator."""


@dataclass(frozen=True, slots=True)
class CountedRatios:
    """The rows with the largest denominators, or the reason why there are none."""

    derived: Derived
    rows: tuple[CountedRatio, ...]
    rows_total: int
    inputs: Inputs
    unavailable: Unavailable | None


@dataclass(frozen=True, slots=True)
class RatioQuestion:
    """A ratio of counters by any of `KEYS`; also by time if `step_s` > 0."""

    selection: Selection
    ratio: str = "cpi"
    by: tuple[str, ...] = (APPLICATION,)
    step_s: int = 0
    """Whole hours."""
    limit: int = 100

    def answer(self, reading: StoreReading) -> RatioAnswer:
        """The answer. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        found = self.ratios(reading)
        return RatioAnswer(
            selection=machine_selection_echo(self.selection),
            ratio=f"{found.derived.y} / {found.derived.x}",
            unit=found.derived.unit,
            by=self.by,
            step_seconds=self.step_s,
            rows=tuple(map(_row, found.rows)),
            rows_total=found.rows_total,
            inputs=found.inputs,
            because=found.unavailable,
        )

    def ratios(self, reading: StoreReading) -> CountedRatios:
        """The ratios with open ends. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        derived = derived_of(self.ratio)
        _check_keys(self.by)
        _check_step(self.step_s, self.selection)
        visits = read_machine_visits(reading.connection, self.selection)
        applications = APPLICATION in self.by or _names_applications(self.selection)
        counters = Counters(reading.connection, self.selection, visits)
        pairs, named = named_pairs(reading, self.selection, counters, derived, by_application=applications)
        failures = read_failures(reading.connection, self.selection, visits, (derived.y, derived.x))
        inputs = inputs_of(visits.coverage, len(visits), len(np.unique(pairs.visit)), failures)
        unavailable = _why_unavailable(visits, pairs, derived, applications=applications)
        rows = () if unavailable else _rows(visits, pairs, named, derived, self.by, self.step_s)
        return CountedRatios(derived, rows[: self.limit], len(rows), inputs, unavailable)


def _row(found: CountedRatio) -> RatioRow:
    return RatioRow(
        key=found.key,
        from_=None if found.start is None else format_time(datetime.fromtimestamp(found.start, UTC)),
        ratio=figure(found.value),
        low_confidence=found.low_confidence,
        visits=found.visits,
        machines=found.machines,
        numerator=found.y,
        denominator=found.x,
    )


def derived_of(ratio: str) -> Derived:
    """The ratio of that name, or of two counters written `y/x`. Raises `BadSelection`."""
    if found := DERIVED.get(ratio):
        return found
    y, slash, x = ratio.partition("/")
    if not (slash and y and x) or "/" in x or len(ratio) > 200:
        raise BadSelection(
            f"Unknown ratio {ratio[:80]!r}.",
            hint=f"Use one of {', '.join(DERIVED)}, or two counters, such as llc-misses/instructions.",
        )
    return Derived(y, x, 1.0, f"{y} per {x}")


def _check_keys(by: tuple[str, ...]) -> None:
    if len(set(by)) < len(by) or not set(by) <= set(KEYS):
        raise BadSelection(
            f"Invalid grouping {', '.join(by)}: ratios of counters take different keys of {', '.join(KEYS)}.",
            hint="Counters are not measured by function; use by=application,platform.",
        )


def _check_step(step_s: int, selection: Selection) -> None:
    if step_s < 0 or step_s % HOUR_S:
        raise BadSelection("A step must be a whole number of hours.", hint="step=1h, or step=1d.")
    length = (selection.end - selection.start).total_seconds()
    if step_s and length / step_s > MOST_STEPS:
        raise BadSelection(f"The time range has more than {MOST_STEPS} steps.", hint="Choose a longer step.")


def _names_applications(selection: Selection) -> bool:
    return any(matcher.label == APPLICATION for matcher in selection.matchers)


def named_pairs(
    reading: StoreReading,
    selection: Selection,
    counters: Counters,
    derived: Derived,
    *,
    by_application: bool | None = None,
) -> tuple[Pairs, Mapping[int, str]]:
    """The counts for a ratio, of the applications that match the selection; and the applications' names by id.

    Without a matcher on applications the counts are of whole machines, unless `by_application` is given.
    """
    if by_application is None:
        by_application = _names_applications(selection)
    pairs = counters.pairs(derived.y, derived.x, by_application=by_application)
    ids = np.unique(pairs.application)
    named = dict(zip(ids.tolist(), reading.label_values(APPLICATION, ids), strict=True))
    return _matching(pairs, named, selection), named


def _matching(pairs: Pairs, named: Mapping[int, str], selection: Selection) -> Pairs:
    """The pairs of the applications that match all matchers."""
    matchers = [matcher for matcher in selection.matchers if matcher.label == APPLICATION]
    keep = np.ones(len(pairs.visit), np.bool_)
    for matcher in matchers:
        test = matcher.positive()
        chosen = [id_ for id_, name in named.items() if test(name) != matcher.operator.negative]
        keep &= np.isin(pairs.application, chosen)
    return pairs.of(keep)


def _why_unavailable(
    visits: MachineVisits, pairs: Pairs, derived: Derived, *, applications: bool
) -> Unavailable | None:
    if not len(visits):
        return Unavailable("too_little", "No visit of the selection has been ingested.")
    if visits.weights is None:
        return Unavailable(
            "not_random", "Visits by hand are not a random sample, so they give no fleet estimates."
        )
    if not len(pairs.visit):
        of = " of applications" if applications else ""
        hint = " Count control groups: fleetprof campaigns set … --cgroups 16." if applications else ""
        return Unavailable("too_little", f"No visit counted both {derived.y} and {derived.x}{of}.{hint}")
    return None


def of_rows(visits: MachineVisits, pairs: Pairs, row: Int64, rows: int) -> ratios.Ratios:
    """The ratios of rows 0…rows−1; `row` is the row of each pair. Several applications of a visit may be in one row."""
    if visits.weights is None:
        raise TypeError("visits without weights have no ratios")
    cell, place = np.unique((row << 32) | pairs.visit, return_inverse=True)
    y, x = (np.bincount(place, weights=column, minlength=len(cell)) for column in (pairs.y, pairs.x))
    counted = np.flatnonzero(visits.group >= 0)
    number = np.full(len(visits), -1, np.int64)
    number[counted] = np.arange(len(counted))
    visit = number[cell & 0xFFFFFFFF]
    there = visit >= 0
    return ratios.of_sums(
        visits.weight[counted],
        visits.group[counted],
        visits.weights,
        row=(cell >> 32)[there],
        visit=visit[there],
        y=y[there],
        x=x[there],
        rows=rows,
    )


def _rows(  # noqa: PLR0917 - one step of the answer
    visits: MachineVisits,
    pairs: Pairs,
    named: Mapping[int, str],
    derived: Derived,
    by: tuple[str, ...],
    step_s: int,
) -> tuple[CountedRatio, ...]:
    """All rows, the largest denominator first; rows of one key in order of time."""
    columns: list[Int64] = []
    texts: list[Mapping[int, str]] = []
    for label in by:
        if label == APPLICATION:
            columns.append(pairs.application)
            texts.append(named)
        else:
            columns.append(visits.values[label][pairs.visit])
            texts.append(dict(enumerate(visits.names[label])))
    start = visits.hour[pairs.visit] * HOUR_S
    columns.append(start // step_s * step_s if step_s else np.zeros_like(start))
    keys, row = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    row = row.reshape(-1).astype(np.int64)
    found = of_rows(visits, pairs, row, len(keys))
    machine = visits.values["machine"][pairs.visit]
    machines = np.bincount(np.unique((row << 32) | machine) >> 32, minlength=len(keys))

    def made(place: int, key: list[int]) -> CountedRatio:
        known = np.isfinite(found.value[place])
        ends = (float(end[place]) * derived.factor for end in (found.value, found.lo, found.hi))
        return CountedRatio(
            key={label: text.get(id_, "") for label, text, id_ in zip(by, texts, key[:-1], strict=True)},
            start=key[-1] if step_s else None,
            value=Measured(*ends) if known else None,
            low_confidence=bool(found.low_confidence[place]),
            visits=int(found.visits[place]),
            machines=int(machines[place]),
            y=float(found.y[place]),
            x=float(found.x[place]),
        )

    rows = list(starmap(made, enumerate(keys.tolist())))
    weight: dict[tuple[str, ...], float] = {}
    for r in rows:
        weight[tuple(r.key.values())] = weight.get(tuple(r.key.values()), 0.0) + r.x
    rows.sort(key=lambda r: (-weight[tuple(r.key.values())], tuple(r.key.values()), r.start or 0))
    return tuple(rows)
