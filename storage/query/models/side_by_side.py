"""Compares one application on two platforms, counter by counter (DIGEST G24).

Each counter is compared per instruction, or as in `storage.query.models.ratios.DERIVED`. A figure that surely differs
tenfold is suspect: the two platforms hardly count the same thing under that name.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.audits.platforms import side_by_side
from analysis.confidence import LEVEL
from analysis.measured import Measured
from analysis.ratios import Ratios
from storage.errors import BadSelection
from storage.query.answers.figures import figure
from storage.query.answers.inputs import Inputs, Unavailable
from storage.query.answers.side_by_side import SideAnswer, SideRow
from storage.query.facts.selection_echo import inputs_of, machine_selection_echo
from storage.query.models.ratios import DERIVED, Derived, named_pairs, of_rows
from storage.query.observed.counters import Counters, read_failures
from storage.query.observed.machines import read_machine_visits
from storage.query.selections.selection import Selection
from storage.query.store_reading import StoreReading


@dataclass(frozen=True, slots=True)
class SideQuestion:
    """The selection on two platforms; of one application if a matcher names it, else of whole machines."""

    selection: Selection
    first: str
    second: str

    def answer(self, reading: StoreReading) -> SideAnswer:
        """The comparison. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        if self.first == self.second:
            raise BadSelection("Name two different platforms.", parameter="second")
        visits = read_machine_visits(reading.connection, self.selection)
        names = visits.names["platform"]
        sides = [names.index(name) if name in names else -1 for name in (self.first, self.second)]
        platform = visits.values["platform"]
        here = np.isin(platform, sides)
        inputs = inputs_of(visits.coverage, len(visits), 0)
        lacking = [name for name, side in zip((self.first, self.second), sides, strict=True) if side < 0]
        if lacking and len(visits):
            why = f"No visit of the selection was on {' or '.join(lacking)}."
            return self._answer((), LEVEL, inputs, Unavailable("too_little", why))
        if not len(visits) or visits.weights is None:
            why = (
                "No visit of the selection has been ingested."
                if not len(visits)
                else "Visits by hand are not a random sample."
            )
            reason = "too_little" if not len(visits) else "not_random"
            return self._answer((), LEVEL, inputs, Unavailable(reason, why))
        found: list[Ratios] = []
        counted = np.zeros(len(visits), np.bool_)
        readings = Counters(reading.connection, self.selection, visits)
        for derived in DERIVED.values():
            pairs, _ = named_pairs(reading, self.selection, readings, derived)
            on = here[pairs.visit]
            pairs = pairs.of(on)
            counted[pairs.visit] = True
            row = (platform[pairs.visit] == sides[1]).astype(np.int64)
            found.append(of_rows(visits, pairs, row, 2))
        counters = {name for derived in DERIVED.values() for name in (derived.y, derived.x)}
        failures = read_failures(reading.connection, self.selection, visits, sorted(counters))
        inputs = replace(
            inputs,
            used=int(counted.sum()),
            missing=tuple(f for f in failures if f.platform in {self.first, self.second}),
        )
        rows, level = _rows(found)
        unavailable = (
            None
            if rows
            else Unavailable("too_little", "None of the counters was counted on either platform.")
        )
        return self._answer(rows, level, inputs, unavailable)

    def _answer(
        self, rows: tuple[SideRow, ...], level: float, inputs: Inputs, unavailable: Unavailable | None
    ) -> SideAnswer:
        return SideAnswer(
            selection=machine_selection_echo(self.selection),
            first=self.first,
            second=self.second,
            interval_level=level,
            rows=rows,
            inputs=inputs,
            because=unavailable,
        )


def _rows(found: list[Ratios]) -> tuple[tuple[SideRow, ...], float]:
    """The figures, and the level of their factors' intervals."""
    first, second = (_of_side(found, side) for side in (0, 1))
    compared = side_by_side(first, second)
    rows = []
    for place, (name, derived) in enumerate(DERIVED.items()):
        ends = [_measured(side, place, derived) for side in (first, second)]
        if ends == [None, None]:
            continue
        known = bool(compared.known[place])
        rows.append(
            SideRow(
                name=name,
                unit=derived.unit,
                first=figure(ends[0]),
                second=figure(ends[1]),
                factor=figure(
                    Measured(*(float(end[place]) for end in (compared.factor, compared.lo, compared.hi)))
                )
                if known
                else None,
                p=float(compared.p[place]) if known else None,
                significant=bool(compared.significant[place]),
                low_confidence=bool(compared.low_confidence[place]),
                suspect=bool(compared.suspect[place]),
                first_visits=int(first.visits[place]),
                second_visits=int(second.visits[place]),
            )
        )
    return tuple(rows), compared.level


def _of_side(found: list[Ratios], side: int) -> Ratios:
    """The ratios of one platform, a row each."""

    def column(name: str) -> Any:
        return np.array([getattr(one, name)[side] for one in found])

    return Ratios(
        **{
            name: column(name)
            for name in ("value", "lo", "hi", "low_confidence", "degrees", "visits", "y", "x")
        }
    )


def _measured(side: Ratios, place: int, derived: Derived) -> Measured | None:
    value = float(side.value[place])
    if not np.isfinite(value):
        return None
    return Measured(*(float(end[place]) * derived.factor for end in (side.value, side.lo, side.hi)))
