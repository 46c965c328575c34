"""GIVEN facts that someone spoiled WHEN a snapshot is checked THEN it is found: the other tests can fail."""

import random

import pytest
from sqlalchemy import Engine, text

from storage.database import open_engine
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from tests.integration.exactly_once.answers import Answers
from tests.integration.exactly_once.made import pattern
from tests.integration.exactly_once.truth import check, moment
from tests.integration.exactly_once.world import MOMENTS, World, make_world

pytestmark = pytest.mark.integration

SPOILED = {
    "a profile lost": "DELETE FROM profile WHERE profile_id = (SELECT min(profile_id) FROM profile)",
    "a chunk lost": "DELETE FROM chunk WHERE profile_id = (SELECT max(profile_id) FROM profile)",
    "a profile twice": (
        "INSERT INTO profile SELECT day, profile_id + 1, visit_id, generation, campaign_id, stratum_id, hour,"
        " sample_type_id, stacks, segment, machine_id, application, version, image, build_id, container, job,"
        " compiler, datacenter, cluster, platform, kernel, label_set_id, facts, samples, period FROM profile"
        " WHERE profile_id = (SELECT min(profile_id) FROM profile);"
        "INSERT INTO chunk SELECT day, profile_id + 1, data FROM chunk"
        " WHERE profile_id = (SELECT min(profile_id) FROM profile)"
    ),
    "another's chunk": (
        "UPDATE chunk SET data = o.data FROM chunk o JOIN profile q USING (day, profile_id) JOIN profile p"
        " ON p.facts = q.facts AND p.samples <> q.samples WHERE p.profile_id = chunk.profile_id"
    ),
    "another application": (
        "UPDATE profile SET application = (SELECT max(value_id) FROM dim_value WHERE dim = 'application')"
        " WHERE segment = 0"
    ),
    "not said to be ingested": "UPDATE capture SET ingested = 0 WHERE day = '2026-11-21'",
    "another generation": "UPDATE profile SET generation = 7 WHERE day = '2026-11-21'",
    "a segment lost": "DELETE FROM capture_segment WHERE segment = 1",
    "a stack swept": "DELETE FROM stack_block",
    "another's lines": (
        "UPDATE line_chunk SET (facts, data) = (SELECT l.facts, l.data FROM line_chunk l JOIN profile p"
        " USING (day, profile_id) ORDER BY p.samples DESC LIMIT 1)"
    ),
    "lines of nobody": "UPDATE line_chunk SET profile_id = profile_id + 1",
}


@pytest.fixture
def world(engine: Engine) -> World:
    made = make_world(engine, len(MOMENTS))
    interner = Interner(engine)
    for visit_id, visit in made.visits.items():
        own = pattern(visit.seed, better=False)
        ingest(engine, interner, visit_id, 1, own.of(visit_id), own.resolved)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("statement", SPOILED.values(), ids=SPOILED)
def test_what_is_spoiled_is_found(statement: str, engine: Engine, world: World) -> None:
    assert wrong_facts(engine, world) == ()
    with engine.begin() as connection:
        connection.execute(text(statement))
    assert wrong_facts(engine, world)


def wrong_facts(engine: Engine, world: World) -> tuple[str, ...]:
    with moment(engine) as (connection, _name):
        return check(connection, world).wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE profile SET period = period + 1 WHERE segment = 0",
        "UPDATE visit SET drawn_at = drawn_at - interval '1 day'",
        "UPDATE profile SET campaign_id = (SELECT max(campaign_id) FROM campaign)",
    ],
    ids=["another period", "another day", "another campaign"],
)
def test_an_answer_that_is_wrong_is_found(
    statement: str, engine: Engine, database_url: str, world: World
) -> None:
    with moment(engine) as (connection, _name):
        checked = check(connection, world)
    asking = open_engine(database_url, application="answers")
    answers = Answers(asking)
    with moment(engine) as (_, name):
        assert answers.wrong(name, checked, random.Random(1), 30) == []
    with engine.begin() as connection:
        connection.execute(text(statement))
    with moment(engine) as (_, name):
        assert answers.wrong(name, checked, random.Random(1), 30)
    asking.dispose()
