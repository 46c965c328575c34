"""Landers, rollers, uploaders, builders, a sweep, retention and readers at once, dying at commits and anywhere between."""

import logging
import os
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.archive import Archive
from tests.integration.exactly_once import roles
from tests.integration.exactly_once.crew import Crew, Journal, Stage
from tests.integration.exactly_once.settling import dropped, settle
from tests.integration.exactly_once.world import make_world

VISITS = int(os.environ.get("FLEETPROF_STORM_VISITS", "16"))
SEED = int(os.environ.get("FLEETPROF_STORM_SEED", "1"))
CRASHES = 2 * VISITS
CHECKS = max(8, VISITS // 3)
ROLES = {
    roles.ingester: 60,
    roles.worker: 60,
    roles.uploader: 12,
    roles.symbolist: 20,
    roles.writer: 10,
    roles.rebuilder: 10,
    roles.retirer: 6,
    roles.compactor: 10,
    roles.sweeper: 12,
}
"""Who works, and at which of how many commits each dies, to be started again."""

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60 + 20 * VISITS)]
log = logging.getLogger(__name__)


@pytest.mark.slow
def test_whatever_dies_no_snapshot_is_ever_wrong(
    engine: Engine, database_url: str, archive: Archive, tmp_path: Path
) -> None:
    world = make_world(engine, VISITS, seed=SEED, archive=archive)
    journal = Journal(tmp_path / "journal")
    stage = Stage(database_url, world, archive, journal)
    with Crew(stage, SEED, crashes=CRASHES) as crew:
        for role, commits in ROLES.items():
            crew.start(role, commits=commits)
        for role in (roles.ingester, roles.writer):  # one more, to get in each other's way
            crew.start(role, commits=ROLES[role])
        crew.start(roles.reader)

        def crashed() -> bool:
            crew.kill_one()
            return crew.is_calm

        crew.until(crashed, "enough crashes", deadline_s=20 * VISITS)
        crew.until(lambda: dropped(engine), "old days are dropped", deadline_s=20 * VISITS)
        crew.until(lambda: journal.counts()["check"] >= CHECKS, "enough checks", deadline_s=20 * VISITS)
    wrong = [why for line in journal.lines("check") for why in line["wrong"]]
    assert wrong == []
    errors = journal.lines("error")
    last = journal.lines("check")[-1]
    log.info(
        "crashes %s, checks %d, questions %d by paths %s, errors %d",
        dict(crew.crashes), len(journal.lines("check")), last["asked"], last["paths"], len(errors),
    )  # fmt: skip
    assert [error for error in errors if "deadlock" in error["why"]] == []
    settle(engine, stage, SEED)
