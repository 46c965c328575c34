"""GIVEN chunks that an engine has decoded WHEN what ingested changes THEN its answers are of what there is now."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, delete, event, insert, select

from storage.blobs.fact_blobs import encode
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import parse_selection
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.schema import chunk, profile
from tests.fact_writer import FactWriter

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def copied(engine: Engine):
    """Statements that read chunks."""
    found: list[str] = []

    def note(connection, cursor, statement, *_):
        if "chunk.data" in statement:
            found.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield found
    event.remove(engine, "before_cursor_execute", note)


def by_function(queries: QueryEngine, select: str) -> dict[str, int]:
    selection = parse_selection(start="2026-11-20T00:30:00Z", end="2026-11-22T00:00:00Z", select=select)
    rows = queries.ask(TableQuestion(selection, ("function",), Page())).rows
    return {row.key["function"]: row.self for row in rows}


def ingested(connection: Connection) -> tuple[FactWriter, list[int]]:
    write = FactWriter(connection)
    stacks = [write.stack([write.function(name)]) for name in ("f", "g", "h")]
    for number, at in enumerate((NOON - timedelta(days=1), NOON)):
        visit = write.visit(f"m{number}", at)
        write.profile(visit, {stacks[0]: 1 + number, stacks[1]: 10}, labels={"application": "a"}, period=1)
        write.profile(visit, {stacks[0]: 100}, labels={"application": "b"}, period=1)
    return write, stacks


def test_chunks_that_were_decoded_are_not_read_again(engine, queries, copied):
    with engine.begin() as connection:
        write, stacks = ingested(connection)
    for _ in range(2):
        assert by_function(queries, '{application="a"}') == {"f": 3, "g": 20}
        assert len(copied) == 1
    with engine.begin() as connection:
        write = FactWriter(connection)
        write.profile(write.visit("m9", NOON), {stacks[2]: 7}, labels={"application": "a"}, period=1)
    assert by_function(queries, '{application="a"}') == {"f": 3, "g": 20, "h": 7}
    assert by_function(queries, '{application="b"}') == {"f": 200}
    assert by_function(queries, '{application=~"a|b"}') == {"f": 203, "g": 20, "h": 7}
    assert queries.caches()["decoded"].rows == 4


def test_a_profile_that_is_written_anew_is_read_anew(engine, queries):
    """It has the id that it had: who ingests a visit once more takes its profiles out and puts them in."""
    with engine.begin() as connection:
        _, stacks = ingested(connection)
    assert Counter(by_function(queries, '{application="a"}')) == {"f": 3, "g": 20}
    with engine.begin() as connection:
        rows = connection.execute(select(profile)).mappings().all()
        connection.execute(delete(profile))
        connection.execute(delete(chunk))
        for row in rows:
            connection.execute(insert(profile).values(**dict(row) | {"facts": 1, "samples": 5}))
            connection.execute(
                insert(chunk).values(
                    day=row["day"], profile_id=row["profile_id"], data=encode([stacks[2]], [5])
                )
            )
    assert by_function(queries, '{application="a"}') == {"h": 10}
    with engine.begin() as connection:
        gone = select(profile.c.profile_id).where(profile.c.day == NOON.date())
        connection.execute(delete(chunk).where(chunk.c.profile_id.in_(gone)))
        connection.execute(delete(profile).where(profile.c.day == NOON.date()))
    assert by_function(queries, '{application="a"}') == {"h": 5}


def test_what_is_kept_can_be_forgotten(engine, queries, copied):
    with engine.begin() as connection:
        ingested(connection)
    by_function(queries, '{application="a"}')
    queries.forget_decoded()
    assert queries.caches()["decoded"].rows == 0
    by_function(queries, '{application="a"}')
    assert len(copied) == 2
