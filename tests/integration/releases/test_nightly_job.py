"""GIVEN a collector WHEN a night has come THEN it computes the night's regressions, and a failure does not end it."""

from datetime import UTC, date, datetime

import pytest
from sqlalchemy import Engine

from collector.nightly import compute_regressions
from storage.query.releases import nights
from storage.query.releases.nights import Night
from storage.snapshots.query_budget import Limits
from tests.integration.api.served import write_fleet

pytestmark = pytest.mark.integration

DAY = date(2026, 11, 18)
"""Of `write_fleet`."""
NIGHT = datetime(2026, 11, 19, 14, 30, tzinfo=UTC)
"""More than half a day after the end of the day: captures that are not ingested are not waited for."""


def _compute(engine: Engine, now: datetime, limits: Limits | None = None) -> Night | None:
    compute_regressions(engine, limits or Limits(), now, lambda: False)
    with engine.connect() as connection:
        return nights.night(connection, DAY)


def test_a_fresh_installation_has_no_night(engine: Engine):
    assert _compute(engine, NIGHT) is None


def test_the_night_is_computed_when_it_has_come(engine: Engine):
    write_fleet(engine)
    assert _compute(engine, datetime(2026, 11, 19, 1, 59, tzinfo=UTC)) is None
    found = _compute(engine, NIGHT)
    assert found is not None
    assert found.finished_at is not None
    assert _compute(engine, NIGHT) == found, "once"


def test_a_failure_is_recorded(engine: Engine):
    write_fleet(engine)
    found = _compute(engine, NIGHT, Limits(seconds=1e-6))
    assert found is not None
    assert (found.finished_at, found.attempt) == (None, 1)
    assert found.failure
