"""How a crew's work comes to its end: everything ingested, merged, and what is old dropped."""

from sqlalchemy import Engine, func, select

from storage import partitions
from storage.schema import capture, reprocessing_capture, rollup_queue
from storage.symbols import reprocessing
from storage.symbols.improved_binaries import improved
from tests.integration.exactly_once import roles
from tests.integration.exactly_once.crew import Crew, Stage
from tests.integration.exactly_once.truth import check, moment
from tests.integration.exactly_once.world import KEEP, TODAY


def settle(engine: Engine, stage: Stage, seed: int) -> None:
    """Let processes that nothing happens to finish the work; then nothing is wrong and nothing is missing."""
    with Crew(stage, seed) as crew:
        for role in (roles.ingester, roles.worker, roles.feeder, roles.writer, roles.retirer):
            crew.start(role)
        crew.until(lambda: settled(engine), "everything is ingested and merged, and old days are dropped")
    with moment(engine) as (connection, _):
        checked = check(connection, stage.world, stage.journal.dropped())
    assert checked.wrong == ()
    kept = {visit_id for visit_id, visit in stage.world.visits.items() if visit.day in checked.days}
    assert set(checked.ingested) == kept
    acknowledged = stage.journal.ingestions()
    behind = [v for v, one in checked.ingested.items() if one.generation < acknowledged.get(v, 1)]
    assert behind == []
    with engine.connect() as connection:
        assert [one.left for one in reprocessing.progress(connection) if one.left] == []


def dropped(engine: Engine) -> bool:
    """Whether retention has come to its end."""
    with engine.connect() as connection:
        oldest = partitions.oldest(connection)
    return oldest is not None and oldest >= KEEP.facts_horizon(TODAY)


def settled(engine: Engine) -> bool:
    """Whether nothing remains to be named, ingested, reprocessed, merged or dropped."""
    with engine.connect() as connection:
        behind = select(func.count()).select_from(capture).where(capture.c.ingested < capture.c.wanted)
        unfed = (
            select(func.count())
            .select_from(reprocessing_capture)
            .where(reprocessing_capture.c.generation.is_(None))
        )
        waiting = select(func.count()).select_from(rollup_queue)
        rest = [connection.scalar(count) for count in (behind, unfed, waiting)]
        news = improved(connection, limit=1)
    return rest == [0, 0, 0] and not news and dropped(engine)
