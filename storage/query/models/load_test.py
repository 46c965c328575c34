"""Whether a load test runs the same code as production, and which functions differ (DIGEST G32, G22)."""

from dataclasses import dataclass

from analysis.audits.load_test import Representative, against_production
from analysis.errors import NotEstimable
from storage.query.answers.diff import DiffRow
from storage.query.answers.figures import Figure, figure
from storage.query.answers.inputs import Unavailable
from storage.query.answers.load_test import DifferingRow, LoadTestAnswer
from storage.query.estimation.visit_tables import visit_table
from storage.query.facts.selection_echo import selection_echo
from storage.query.samples import Samples
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import Compared, compared, visit_numbers
from storage.query.shapes.frame_keys import split_keys
from storage.query.shapes.totals import totals
from storage.query.store_reading import StoreReading

MOST_ROWS = 2_000
"""Rows compared, the heaviest of either side."""
_SEED = 1
"""Equal queries have equal results."""


@dataclass(frozen=True, slots=True)
class LoadTestQuestion:
    """A test's profile compared with production's, by these keys. Production's event is the test's."""

    test: Selection
    production: Selection
    by: tuple[str, ...] = ("function",)
    limit: int = 20

    def answer(self, reading: StoreReading) -> LoadTestAnswer:
        """The comparison. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        labels, _ = split_keys(self.by)
        both = [reading.visits(side, labels) for side in (self.test, self.production)]
        behind = [totals(reading.functions, samples) for samples in both]
        sides = compared(reading, both[0], both[1], self.by, limit=MOST_ROWS, own=True)
        found: Representative | None = None
        rows: tuple[DifferingRow, ...] = ()
        unavailable: Unavailable | None = None
        if sides.result is None:
            unavailable = Unavailable(
                "not_random", "Visits by hand are not a random sample of a test or of production."
            )
        else:
            try:
                found = _held_against(sides, _unit(both))
                rows = tuple(_row(sides.rows[row], found, row) for row in found.differing.tolist())
            except NotEstimable as error:
                unavailable = Unavailable(error.reason, str(error))
        return LoadTestAnswer(
            selection=selection_echo(self.test, both[0].kind),
            base=selection_echo(self.production, both[0].kind),
            totals=behind[0],
            base_totals=behind[1],
            by=self.by,
            representative=None if found is None else found.representative,
            distance=None if found is None else found.distance,
            matched=None if found is None else figure(found.matched),
            floor=None if found is None else figure(found.floor),
            p=None if found is None else found.p,
            covered=None if found is None else found.covered,
            compared_visits=None if found is None else found.compared_visits,
            compared_samples=None if found is None else found.compared_samples,
            rows=rows[: self.limit],
            rows_total=len(rows),
            interval_level=None if found is None else found.diff.level,
            because=unavailable,
        )


def _held_against(sides: Compared, sample: float) -> Representative:
    test, production = (
        visit_table(side.visits, side.contributions(place, own=True), number)
        for side, place, number in zip(sides.sides, sides.places, visit_numbers(sides.sides), strict=True)
    )
    return against_production(test, production, seed=_SEED, sample=sample, diff=sides.result)


def _row(row: DiffRow, found: Representative, place: int) -> DifferingRow:
    delta = Figure(row.a_share - row.b_share, float(found.diff.lo[place]), float(found.diff.hi[place]))
    return DifferingRow(row.key, row.a_share, row.b_share, delta)


def _unit(both: list[Samples]) -> float:
    """Units of the smallest sample; 1 without samples. If others are no multiple of it, nothing can be compared."""
    smallest = [
        int((facts.units[there] // facts.samples[there]).min())
        for facts in (samples.facts for samples in both)
        for there in (facts.samples > 0,)
        if there.any()
    ]
    return float(max(min(smallest, default=1), 1))
