"""GIVEN a fleet in which every program has an application WHEN another one starts THEN it is a change."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from storage.query.releases.changes import ChangesQuestion
from storage.query.selections.selection import Selection
from tests.fact_writer import FactWriter
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

START = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


def _visits(engine: Engine) -> None:
    """Twenty with one program; the last ten with another one, too."""
    with engine.begin() as connection:
        campaign = Campaign(connection, {"east": 100}, random=Random(1))
        write: FactWriter = campaign.write
        stack = write.stack([write.function("main", file="m.c", binary="prog")])
        for number in range(20):
            at = START + timedelta(minutes=number)
            visit = campaign.answer(at, "east", machine=f"m{number}")
            write.profile(visit, {stack: 50}, labels={"application": "old"})
            if number >= 10:
                write.profile(visit, {stack: 50}, labels={"application": "new"})


def test_a_new_application_is_a_change_where_no_profile_lacks_one(engine: Engine) -> None:
    _visits(engine)
    queries = QueryEngine(engine)
    selection = Selection(start=START, end=START + timedelta(hours=1))
    answer = queries.ask(ChangesQuestion(selection, labels=("application",)))
    queries.close()
    assert [(one.label, one.application, one.value, one.previous) for one in answer.changes] == [
        ("application", "new", "new", None)
    ]
