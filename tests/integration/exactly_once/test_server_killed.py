"""PostgreSQL is killed with all its processes while everything happens at once: nothing lost, nothing twice.

Commits wait for the disk or not as they do in production, so a kill does lose what was acknowledged last:
ingestions and mergings, each of which also loses the row that says it was done. `FLEETPROF_KILLS=100` kills
more often. Kills wait for work, not for time: each part of it has to be done between two of them.
"""

import logging
import os
import random
import time
from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, func, select, text

from storage import migrate
from storage.archive import Archive
from storage.database import open_engine
from storage.schema import capture, rollup_day
from tests.integration.exactly_once import roles
from tests.integration.exactly_once.crew import Crew, Journal, Stage
from tests.integration.exactly_once.server import MortalServer
from tests.integration.exactly_once.settling import settle
from tests.integration.exactly_once.truth import check, moment
from tests.integration.exactly_once.world import make_world

log = logging.getLogger(__name__)

KILLS = int(os.environ.get("FLEETPROF_KILLS", "10"))
KILLS_A_ROUND = 10
"""With one database; then comes the next one, with new visits and all its days."""
VISITS = 40
LONGEST_S = 1.0
"""To the next kill, once what is waited for has happened."""
PATIENCE_S = 12.0
"""With what is waited for between two kills; then it is waited for after the next one."""
KINDS = ("ingested", "merged", "folded", "bucket", "dropped")
"""What has to happen between two kills, each in its turn; `Journal` tells."""

ROLES = (
    roles.ingester,
    roles.worker,
    roles.uploader,
    roles.symbolist,
    roles.writer,
    roles.rebuilder,
    roles.retirer,
    roles.sweeper,
)
LATER_ROLES = (roles.compactor,)
"""Begin after the first kill: a day has a daily rollup once, and a fast machine had folded each of them before it."""

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60 + 40 * KILLS)]


@pytest.mark.slow
def test_what_was_ingested_survives_the_server_whole_or_ingests_again(
    mortal_server: MortalServer, tmp_path: Path
) -> None:
    lost = 0
    for number in range(-(-KILLS // KILLS_A_ROUND)):
        lost += kill_and_settle(mortal_server, tmp_path / str(number), number)
    log.info("%d kills; %d acknowledged ingestions undone and reprocessed", mortal_server.kills, lost)


def kill_and_settle(server: MortalServer, folder: Path, number: int) -> int:
    """Ten kills of one database; the number of ingestions that workers saw committed and a kill undid."""
    rng = random.Random(number)
    url = fresh_database(server, f"round_{number}")
    engine = open_engine(url, application="test")
    archive = Archive(str(folder / "archive"))
    world = make_world(engine, VISITS, seed=number, archive=archive)
    journal = Journal(folder / "journal")
    lost = 0
    between = Counter[str]()
    """Of `KINDS`, what was done between two kills."""
    stage = Stage(url, world, archive, journal, generations=10**6)
    with Crew(stage, number) as crew:
        for role in ROLES:
            crew.start(role)
        for kill in range(min(KILLS_A_ROUND, KILLS - server.kills)):
            before = happened(journal, engine)
            if kill == 1:
                for role in LATER_ROLES:
                    crew.start(role)
            missing = [kind for kind in KINDS if not between[kind]]
            if kill and missing:
                await_progress(crew, journal, engine, missing[0])
            time.sleep(rng.uniform(0.05, LONGEST_S))  # what happens meanwhile is the point
            crew.tend()
            begun = time.monotonic()
            if kill:
                between += happened(journal, engine) - before
            server.kill()
            acknowledged = journal.ingestions()
            server.start()
            with moment(engine) as (connection, _):
                checked = check(connection, world, journal.dropped())
                lost += undone(connection, acknowledged)
            log.info(
                "kill %d: %.1f s, %d ingested, between kills %s",
                server.kills, time.monotonic() - begun, len(checked.ingested), dict(between),
            )  # fmt: skip
            assert checked.wrong == ()
    settle(engine, stage, number)
    engine.dispose()
    if kill + 1 == KILLS_A_ROUND:
        assert [kind for kind in KINDS if not between[kind]] == [], "what never happened between two kills"
    return lost


def happened(journal: Journal, engine: Engine) -> Counter[str]:
    """How often each of `KINDS` was seen done; the days that have daily rollups now.

    Days are not told by the journal: they are all folded in one call, and a kill may come before it is noted.
    """
    done = Counter({"ingested": journal.counts()["ingested"]})
    with engine.connect() as connection:
        done["folded"] = connection.scalars(select(func.count(rollup_day.c.rolled_up_at))).one()
    for kind, what, many in (("bucket", "compacted", "buckets"), ("dropped", "retained", "days")):
        done[kind] = sum(len(line[many]) for line in journal.lines(what))
    done["merged"] = sum(line["entries"] for line in journal.lines("merged"))
    return done


def await_progress(crew: Crew, journal: Journal, engine: Engine, kind: str) -> None:
    """Return when one more of the kind is done, or patience has ended."""
    before = happened(journal, engine)[kind]
    end = time.monotonic() + PATIENCE_S
    crew.until(
        lambda: happened(journal, engine)[kind] > before or time.monotonic() > end,
        kind,
        deadline_s=2 * PATIENCE_S,
    )


def fresh_database(server: MortalServer, name: str) -> str:
    """A migrated database of this name."""
    administrator = open_engine(server.url("postgres"), application="test")
    with administrator.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    administrator.dispose()
    migrate.upgrade(server.url(name))
    return server.url(name)


def undone(connection: Connection, acknowledged: dict[UUID, int]) -> int:
    """Visits whose latest acknowledged generation is not ingested any more; each is due again."""
    rows = connection.execute(select(capture.c.visit_id, capture.c.ingested, capture.c.wanted)).all()
    behind = [row for row in rows if row.ingested < acknowledged.get(row.visit_id, 0)]
    assert all(row.ingested < row.wanted for row in behind)
    return len(behind)
