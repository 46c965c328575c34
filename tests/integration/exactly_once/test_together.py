"""Landers, an uploader and readers at once, dying at commits and anywhere between: 0 wrong answers."""

import os
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select

from storage.schema import capture
from tests.integration.exactly_once import roles
from tests.integration.exactly_once.crew import Crew
from tests.integration.exactly_once.truth import check, moment
from tests.integration.exactly_once.world import make_world

pytestmark = pytest.mark.integration

VISITS = int(os.environ.get("FLEETPROF_STORM_VISITS", "48"))
SEED = int(os.environ.get("FLEETPROF_STORM_SEED", "1"))
CRASHES = VISITS // 2
CHECKS = 20


def test_whatever_dies_no_snapshot_is_ever_wrong(engine: Engine, database_url: str, tmp_path: Path) -> None:
    world = make_world(engine, VISITS, seed=SEED)

    def settled() -> bool:
        with engine.connect() as connection:
            waiting = connection.scalar(
                select(func.count()).select_from(capture).where(capture.c.landed < capture.c.wanted)
            )
            again = connection.scalar(select(func.count()).select_from(capture).where(capture.c.landed > 1))
        return waiting == 0 and again == VISITS

    with Crew(database_url, world, tmp_path, SEED) as crew:
        for _ in range(3):
            crew.start(roles.lander, commits=60)
        crew.start(roles.uploader, commits=12)
        crew.start(roles.reader)
        crew.until(lambda: len(crew.journal.lines("check")) > 0, "a reader reads")

        def enough() -> bool:
            crew.maybe_kill(0.1)
            return (
                crew.crashes.total() >= CRASHES and len(crew.journal.lines("check")) >= CHECKS and settled()
            )

        crew.until(enough, "everything is landed")
    wrong = [why for line in crew.journal.lines("check") for why in line["wrong"]]
    assert wrong == []
    errors = crew.journal.lines("error")
    assert [error for error in errors if "deadlock" in error["why"]] == []
    with moment(engine) as (connection, _):
        checked = check(connection, world)
    assert checked.wrong == ()
    assert set(checked.landed) == set(world.visits)
