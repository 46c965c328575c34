"""Adds up CPU time and misses of applications for the frequency model, a few days of visits at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import numpy as np

from analysis.dvfs.visit_sums import Cells, VisitSums, cells_of, sum_up, together
from analysis.weights import Weights
from storage.arrays import Bool, Float, Int64, distinct, weight_at
from storage.query.facts.visit_scan import sample_type_of
from storage.query.models.frequency_inputs import MISSES, FrequencyInputs
from storage.query.observed.time_used import TimeUsed, UnitsUsed, read_time_used, read_units_used
from storage.query.selections.matchers import APPLICATION
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget

VISITS_AT_ONCE = 20_000
"""Visits whose applications are in memory at a time; a UTC day is never split, so a larger day is read at once."""
_ID_BITS = 32


@dataclass(frozen=True, slots=True)
class Pairs:
    """Columns over pairs of a visit and an application, each once, in order."""

    visit: Int64
    application: Int64
    """Id of the dimension's value."""
    seconds: Float
    misses: Float
    """As sampled."""

    def of(self, keep: Bool) -> "Pairs":
        """Some of them."""
        return Pairs(self.visit[keep], self.application[keep], self.seconds[keep], self.misses[keep])


def pairs_of(cpu: TimeUsed, missed: UnitsUsed) -> Pairs:
    """The pairs in which either event has a sample, with 0 for the event without one.

    Both events are samples: a small application has many visits with samples of one event alone. If only pairs with
    CPU time counted, the ratio of sums would miss misses: with one CPU sample per visit on average it is 0.25 where it
    should be 0.40.
    """
    spent, went = cpu.seconds > 0, missed.units > 0
    key = np.unique(
        np.concatenate(
            (
                _keys(cpu.visit[spent], cpu.application[spent]),
                _keys(missed.visit[went], missed.application[went]),
            )
        )
    )
    visit, application = key >> _ID_BITS, key & ((1 << _ID_BITS) - 1)
    time = UnitsUsed(cpu.visit, cpu.application, cpu.seconds)
    return Pairs(visit, application, _of_keys(time, key), _of_keys(missed, key))


@dataclass(frozen=True, slots=True)
class ApplicationSums:
    """Columns over applications, by descending CPU time."""

    names: tuple[str, ...]
    seconds: Float
    """CPU time of the fleet in the covered time."""
    visits: Int64
    """Visits with a sample of it."""
    places: Sequence[Int64]
    """For each application, the places of its sums in `sums`."""
    sums: VisitSums
    cells: Cells
    weights: Weights

    def __len__(self) -> int:
        return len(self.names)

    def of(self, chosen: Callable[[str], bool]) -> "ApplicationSums":
        """The applications with a chosen name."""
        kept = [place for place, name in enumerate(self.names) if chosen(name)]
        names, places = tuple(self.names[place] for place in kept), [self.places[place] for place in kept]
        return replace(self, names=names, seconds=self.seconds[kept], visits=self.visits[kept], places=places)

    def sums_of(self, place: int) -> VisitSums:
        """The sums of one application."""
        return self.sums.of(self.places[place])


def read_application_sums(
    reading: StoreReading, selection: Selection, inputs: FrequencyInputs, base_mhz: float
) -> ApplicationSums:
    """Sums over the usable visits, of which there must be at least one.

    Pairs of a visit and an application are dropped as soon as a few days of them are added up: a week of ten thousand
    machines has millions. Raises `BadSelection`, `DatabaseError`.
    """
    time = replace(selection, event="cpu", unit="")
    misses = replace(selection, event=MISSES, unit="")
    connection, visits = reading.connection, inputs.visits
    if visits.weights is None:
        raise TypeError("visits without weights have no estimates")
    cells = cells_of(visits.weight, visits.group)
    kind = sample_type_of(connection, misses)
    parts: list[VisitSums] = []
    for days in day_ranges(visits.hour[inputs.usable]):
        query_budget.checkpoint()
        pairs = pairs_of(
            read_time_used(connection, time, visits, days),
            read_units_used(connection, misses, kind, visits, days),
        )
        pairs = pairs.of(inputs.usable[pairs.visit])
        at = pairs.visit
        parts.append(
            sum_up(
                cells,
                visit=at,
                application=pairs.application,
                seconds=pairs.seconds,
                hertz=inputs.hertz[at],
                # The event may have been multiplexed: the model needs its rate per second of the window.
                misses=pairs.misses * (visits.seconds[at] / inputs.missed_s[at]),
                latency_s=inputs.latency_s[at],
                base_hz=base_mhz * 1e6,
            )
        )
    return _by_application(reading, together(parts), cells, visits.weights)


def _by_application(
    reading: StoreReading, sums: VisitSums, cells: Cells, weights: Weights
) -> ApplicationSums:
    ids, of = distinct(sums.application)
    seconds = weight_at(of, sums.seconds * cells.weight[sums.cell], len(ids))
    visits = weight_at(of, sums.visits, len(ids)).astype(np.int64)
    order = np.argsort(of, kind="stable")
    places = np.split(order, np.cumsum(np.bincount(of, minlength=len(ids)))[:-1]) if len(ids) else []
    names = reading.label_values(APPLICATION, ids)
    # Ties are ordered by name, so the order is the same each time.
    most = sorted(range(len(ids)), key=lambda place: (-float(seconds[place]), names[place]))
    return ApplicationSums(
        names=tuple(names[place] for place in most),
        seconds=seconds[most],
        visits=visits[most],
        places=[places[place] for place in most],
        sums=sums,
        cells=cells,
        weights=weights,
    )


def day_ranges(hours: Int64, most: int = VISITS_AT_ONCE) -> Iterator[tuple[date, date]]:
    """First and last UTC days of ranges that cover all visits of these hours, each about `most` visits or one day."""
    days, counts = np.unique(hours // 24, return_counts=True)
    first, held = 0, 0
    for place, count in enumerate(counts.tolist()):
        if held and held + count > most:
            yield _date(int(days[first])), _date(int(days[place - 1]))
            first, held = place, 0
        held += count
    if held:
        yield _date(int(days[first])), _date(int(days[-1]))


def _date(day: int) -> date:
    return (datetime.fromtimestamp(0, UTC) + timedelta(days=day)).date()


def _keys(visit: Int64, application: Int64) -> Int64:
    keys: Int64 = (visit << _ID_BITS) | application
    return keys


def _of_keys(used: UnitsUsed, wanted: Int64) -> Float:
    """The units of these pairs; 0 for pairs without any."""
    key = _keys(used.visit, used.application)
    order = np.argsort(key)
    if not len(key):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
    return np.where(key[order][place] == wanted, used.units[order][place], 0.0)
