"""GIVEN visits of a random design WHEN a selection is asked THEN every figure is what plain Python reckons."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from storage.query.engine import QueryEngine
from storage.query.selection import parse_selection
from storage.query.table import Page
from tests.designed import Campaign

pytestmark = pytest.mark.integration

START = datetime(2026, 11, 18, 22, 0, tzinfo=UTC)
"""Two hours before midnight: selections cross it."""
PERIOD = 10_000_000
SIZES = {"east": 100, "west": 40, "north": 7}
NAMES = ("main", "work", "wait")


@dataclass(frozen=True)
class Drawn:
    """A visit: when, where, how busy, and what came of it."""

    minute: int
    stratum: str
    utilisation: float | None
    seconds: float | None
    """None: it failed."""
    samples: tuple[int, int, int]
    """Of main, main;work and main;wait."""

    @property
    def klass(self) -> int:
        return 0 if self.utilisation is None else 1 + min(int(self.utilisation * 4), 3)

    @property
    def day(self) -> int:
        return (self.minute + 22 * 60) // (24 * 60)


a_visit = st.builds(
    Drawn,
    minute=st.integers(0, 239),
    stratum=st.sampled_from(sorted(SIZES)),
    utilisation=st.sampled_from([None, 0.0, 0.3, 0.6, 1.0]),
    seconds=st.sampled_from([None, 5.0, 2.5]),
    samples=st.tuples(*[st.integers(0, 50)] * 3),
)


def test_without_failures_a_visit_stands_for_its_share_of_the_stratums_time(engine: Engine):
    """Two strata, one hour: each watched second stands for N·T/Σs machine-seconds."""
    with engine.begin() as connection:
        fleet = Campaign(connection, {"east": 100, "west": 40})
        stack = fleet.write.stack([fleet.write.function("f")])
        fleet.answer(START - timedelta(hours=1), "east")
        for samples in (10, 0, 20):
            visit = fleet.answer(START + timedelta(minutes=samples), "east", seconds=5)
            if samples:
                fleet.write.profile(visit, {stack: samples}, period=PERIOD)
        for minutes in (1, 2):
            fleet.write.profile(fleet.answer(START + timedelta(minutes=minutes), "west"), {stack: 40})
    queries = QueryEngine(engine)
    answer = queries.table(
        parse_selection(start="2026-11-18T22:00:00Z", end="2026-11-18T23:00:00Z"), ["function"], Page()
    )
    east, west = 100 * 3600 / 15 * 30 * PERIOD, 40 * 3600 / 10 * 80 * PERIOD
    assert answer.totals.estimate.value == pytest.approx(east + west)
    assert answer.totals.estimate.lo < east + west < answer.totals.estimate.hi
    coverage = answer.totals.coverage
    assert (coverage.random, coverage.covered_s, coverage.population) == (True, 3600, 140)
    assert (coverage.drawn, coverage.landed, coverage.uncovered) == (5, 5, 0)
    row = answer.table.rows[0]
    assert row.self_share == pytest.approx(1.0)
    assert (row.visits, row.total_estimate.units.value) == (4, pytest.approx(east + west))
    queries.close()
