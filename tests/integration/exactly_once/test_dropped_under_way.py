"""GIVEN somebody who reads a day's facts WHEN retention drops the day meanwhile THEN one waits for the other.

A table that is dropped is gone for older snapshots too, so a snapshot alone protects nobody.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, time, timedelta

import pytest
from sqlalchemy import Connection, Engine, text

from storage import partitions
from storage.archive import Archive
from storage.database import open_engine
from storage.errors import DatabaseBusy
from storage.ingest.ingest import ToIngest, ingest_many
from storage.ingest.interning import Interner
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion
from storage.rollup.apply_queue import RollupWriter
from storage.rollup.rebuild import rebuild
from tests.integration.exactly_once.made import pattern
from tests.integration.exactly_once.world import KEEP, MOMENTS, OLD, TODAY, World, make_world

pytestmark = pytest.mark.integration


@pytest.fixture
def merged(engine: Engine, archive: Archive) -> World:
    """Visits of every day, ingested and merged."""
    world = make_world(engine, len(MOMENTS), archive=archive)
    items = []
    for visit in world.visits.values():
        made = pattern(visit.seed, better=False)
        items.append(ToIngest(visit.visit_id, 1, made.of(visit.visit_id), made.resolved))
    ingest_many(engine, Interner(engine), items)
    while RollupWriter(engine).rollup().entries:
        pass
    return world


@pytest.fixture
def retention(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """Tries to drop the old days each time that somebody has looked which there are; whether it could."""
    other = open_engine(database_url, application="retention")
    tries: list[bool] = []

    def then_dropped(look: Callable[[Connection], object]) -> Callable[[Connection], object]:
        def looked(connection: Connection) -> object:
            found = look(connection)
            with monkeypatch.context() as inner, other.begin() as retention:
                inner.setattr(partitions, look.__name__, look)
                try:
                    partitions.drop(retention, KEEP.facts_horizon(TODAY))
                    tries.append(True)
                except DatabaseBusy:  # it comes again later
                    retention.rollback()
                    tries.append(False)
            return found

        return looked

    for look in (partitions.existing, partitions.oldest):
        monkeypatch.setattr(partitions, look.__name__, then_dropped(look))
    yield tries
    other.dispose()


@pytest.mark.slow
def test_a_rebuild_never_makes_the_cells_of_a_dropped_day_of_nothing(
    engine: Engine, merged: World, retention: list[bool]
) -> None:
    before = cells(engine)
    rebuild(engine, OLD[0].date())
    assert retention == [False]
    assert cells(engine) == before


@pytest.mark.slow
def test_an_answer_has_the_whole_of_what_its_snapshot_shows(
    engine: Engine, merged: World, retention: list[bool]
) -> None:
    """By version, which no cell has with intervals: from the chunks."""
    start = datetime.combine(OLD[0].date(), time(), UTC)
    selection = Selection(start=start, end=start + timedelta(days=20))
    query = QueryEngine(engine)
    answer = query.ask(TableQuestion(selection, ("version",), Page()))
    query.close()
    kept = [
        segment.period * sum(sum(counts.values()) for counts in segment.groups.values())
        for visit in merged.visits.values()
        if visit.campaign == "fleet"
        for segment in pattern(visit.seed, better=False).segments
        if segment.event == "cpu" and segment.stacks
    ]
    assert answer.totals.path == "chunks"
    assert answer.totals.units == sum(kept)
    assert retention
    assert not any(retention)


def cells(engine: Engine) -> list[tuple[object, ...]]:
    """What there is of every cube, level and bucket."""
    sums = "SELECT cube, level, bucket, sum(samples), sum(profiles) FROM rollup GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(sums))]
