"""What applications did in the visits of a selection, added up for the frequency model some days after the others."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

import numpy as np

from analysis.dvfs.visit_sums import Cells, VisitSums, cells_of, sum_up, together
from analysis.weights import Weights
from storage.arrays import Bool, Float, Int64, distinct, weight_at
from storage.query.facts.visit_scan import sample_type_of
from storage.query.models.frequency_inputs import MISSES, FrequencyInputs
from storage.query.observed.machines import APPLICATION
from storage.query.observed.time_used import TimeUsed, UnitsUsed, read_time_used, read_units_used
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading
from storage.snapshots import query_budget

VISITS_AT_ONCE = 20_000
"""Of which applications are held one by one; whole UTC days, so a day of more is read at once."""
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
    """The pairs of which either event saw anything, with 0 of what was not seen.

    Both are samples: small applications have many visits with a sample of one event alone. Of those with CPU time only,
    the ratio of sums lacks misses: with a CPU sample a visit, on average, 0.25 where it should be 0.40.
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
    """Columns over applications, the one with most CPU time first."""

    names: tuple[str, ...]
    seconds: Float
    """CPU time of the fleet, in the covered time."""
    visits: Int64
    """That saw anything of it."""
    places: Sequence[Int64]
    """Of each one's sums in `sums`."""
    sums: VisitSums
    cells: Cells
    weights: Weights

    def __len__(self) -> int:
        return len(self.names)

    def of(self, chosen: Callable[[str], bool]) -> "ApplicationSums":
        """Those of some names."""
        kept = [place for place, name in enumerate(self.names) if chosen(name)]
        names, places = tuple(self.names[place] for place in kept), [self.places[place] for place in kept]
        return replace(self, names=names, seconds=self.seconds[kept], visits=self.visits[kept], places=places)

    def sums_of(self, place: int) -> VisitSums:
        """Those of one application."""
        return self.sums.of(self.places[place])


def read_application_sums(
    reading: StoreReading, selection: Selection, inputs: FrequencyInputs, base_mhz: float
) -> ApplicationSums:
    """Sums over the usable visits, of which there is one at least.

    Pairs of a visit and an application are not kept longer than a few days of them are added up: in a week ten thousand machines have
    millions. Raises `BadSelection`, `DatabaseError`.
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
                # The event may have had a turn of its own: what counts is how often it happened in a second of the window.
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
    # Of equal ones by name, so that they are in the same order each time.
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
    """First and last UTC days of ranges that hold all visits of these hours, each about `most` of them or one day."""
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
    """The units of these pairs; 0 for one of which none was seen."""
    key = _keys(used.visit, used.application)
    order = np.argsort(key)
    if not len(key):
        return np.zeros(len(wanted))
    place = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
    return np.where(key[order][place] == wanted, used.units[order][place], 0.0)
