"""GIVEN a simulated fleet WHEN an odd release of checkout is on a few machines THEN movers name it and its function."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage.query.query_engine import QueryEngine
from storage.query.shapes.movers import MoversQuestion
from tests import release_fleet
from tests.release_fleet import APPLICATION, BASE, NEWEST, NOW, PREVIOUS

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.slow]


@pytest.fixture(scope="module")
def queries(module_engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryEngine]:
    folder: Path = tmp_path_factory.mktemp("releases")
    with pytest.MonkeyPatch.context() as monkeypatch:
        release_fleet.ingest(module_engine, folder, monkeypatch)
    made = QueryEngine(module_engine)
    yield made
    made.close()


def test_the_planted_regression_is_found_and_attributed_to_its_release(queries: QueryEngine) -> None:
    answer = queries.ask(MoversQuestion(NOW, BASE))
    slower, added = release_fleet.planted()
    found = {mover.key["function"]: mover for mover in answer.movers if mover.release is not None}
    assert slower in found
    assert added in found
    mover = found[slower]
    assert mover.release is not None
    release = (mover.release.application, mover.release.version, mover.release.previous)
    assert release == (APPLICATION, NEWEST, PREVIOUS)
    assert mover.a_share > 1.5 * mover.b_share
    assert mover.q is not None
    assert mover.q <= 0.05
    assert mover.cause is not None
    assert mover.cause.best is not None
    assert (mover.cause.best.label, mover.cause.best.value) == ("version", NEWEST)
    (compared,) = (one for one in answer.releases if one.application == APPLICATION)
    assert mover.selection_delta == pytest.approx(mover.delta * compared.share)
    assert compared.visits >= 8
    assert [abs(one.selection_delta) for one in answer.movers] == sorted(
        (abs(one.selection_delta) for one in answer.movers), reverse=True
    )


def test_two_days_alone_hide_it(queries: QueryEngine) -> None:
    answer = queries.ask(MoversQuestion(NOW, BASE, releases=False))
    assert release_fleet.planted()[0] not in {mover.key["function"] for mover in answer.movers}
    assert answer.releases == ()


def test_releases_without_a_change_are_not_movers(queries: QueryEngine) -> None:
    answer = queries.ask(MoversQuestion(NOW, BASE))
    assert {mover.release.application for mover in answer.movers if mover.release} == {APPLICATION}
