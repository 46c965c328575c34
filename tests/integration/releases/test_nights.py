"""GIVEN several processes WHEN a night is due THEN one computes it, and another after a crash."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta

import pytest
from sqlalchemy import Engine, func, update

from storage.query.releases import nights
from storage.query.releases.comparison import Sides, untested
from storage.query.releases.nights import Found
from storage.schema import regression_night

pytestmark = pytest.mark.integration

DAY = date(2026, 11, 21)
FOUND = [Found("web", 0.25, untested(Sides("release", "2", "1", 3, 9, same_time=False)))]


def _claim(engine: Engine, *, again: bool = False) -> int | None:
    with engine.begin() as connection:
        return nights.claim(connection, DAY, again=again)


def _finish(engine: Engine, attempt: int) -> bool:
    with engine.begin() as connection:
        return nights.finish(connection, DAY, attempt, FOUND, tested=7, interval_level=0.99)


def _expire(engine: Engine) -> None:
    """As if the process had died five minutes ago."""
    with engine.begin() as connection:
        connection.execute(
            update(regression_night).values(leased_until=func.clock_timestamp() - timedelta(seconds=1))
        )


def test_one_of_many_claims_a_night(engine: Engine):
    with ThreadPoolExecutor(5) as threads:
        claims = list(threads.map(lambda _: _claim(engine), range(5)))
    assert sorted(claims, key=str) == [1, None, None, None, None]
    assert _finish(engine, 1)
    assert _claim(engine) is None, "it is done"
    with engine.connect() as connection:
        assert nights.results(connection, DAY) == FOUND
        found = nights.night(connection, DAY)
        assert nights.finished_days(connection) == [DAY]
    assert found is not None
    assert found.finished_at is not None
    assert (found.tested, found.interval_level, found.failure) == (7, 0.99, "")


def test_a_night_is_tried_again_after_a_crash_and_the_first_process_stores_nothing(engine: Engine):
    assert _claim(engine) == 1
    _expire(engine)
    assert _claim(engine) == 2
    with engine.begin() as connection:
        assert not nights.renew(connection, DAY, 1)
        assert nights.renew(connection, DAY, 2)
    assert not _finish(engine, 1)
    with engine.connect() as connection:
        assert nights.results(connection, DAY) == []
    assert _finish(engine, 2)


def test_a_failed_night_rests_and_states_why(engine: Engine):
    assert _claim(engine) == 1
    with engine.begin() as connection:
        nights.fail(connection, DAY, 1, "The query takes more than 30 seconds.")
    assert _claim(engine) is None
    with engine.connect() as connection:
        found = nights.night(connection, DAY)
    assert found is not None
    assert (found.failure, found.finished_at) == ("The query takes more than 30 seconds.", None)
    _expire(engine)
    assert _claim(engine) == 2


def test_a_finished_night_is_computed_again_only_if_requested(engine: Engine):
    assert _claim(engine) == 1
    assert _finish(engine, 1)
    assert _claim(engine) is None
    assert _claim(engine, again=True) == 2
    with engine.connect() as connection:
        assert nights.results(connection, DAY) == FOUND, "the results stay until there are new ones"


def test_old_nights_are_deleted(engine: Engine):
    old = DAY - timedelta(days=nights.KEPT_NIGHTS + 1)
    for day in (old, DAY):
        with engine.begin() as connection:
            attempt = nights.claim(connection, day)
            assert attempt is not None
            assert nights.finish(connection, day, attempt, FOUND, tested=0, interval_level=None)
    with engine.connect() as connection:
        assert nights.finished_days(connection) == [DAY]
        assert nights.results(connection, old) == []
