"""GIVEN a simulated fleet WHEN an odd release of checkout rolls out THEN it and the function it slows down are found."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine

from storage import deploys
from storage.deploys import NewDeploy
from storage.query.answers.releases import ReleasedApplication, ReleasedVersion
from storage.query.query_engine import QueryEngine
from storage.query.releases.changes import ChangesQuestion
from storage.query.releases.due_night import due_night, end_of
from storage.query.releases.night import run_night
from storage.query.releases.regressions import RegressionsQuestion
from storage.query.releases.releases import ReleasesQuestion
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.times import format_time
from storage.query.shapes.movers import MoversQuestion
from tests import release_fleet
from tests.release_fleet import APPLICATION, BASE, BEGIN, END, NEWEST, NOW, PREVIOUS, ROLL_OUT, WHOLE

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900), pytest.mark.slow]


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
    slower = release_fleet.slower()
    found = {mover.key["function"]: mover for mover in answer.movers if mover.release is not None}
    assert slower in found
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
    assert release_fleet.slower() not in {mover.key["function"] for mover in answer.movers}
    assert answer.releases == ()


def test_releases_without_a_change_are_not_movers(queries: QueryEngine) -> None:
    answer = queries.ask(MoversQuestion(NOW, BASE))
    assert {mover.release.application for mover in answer.movers if mover.release} == {APPLICATION}


def test_a_release_has_its_progress_and_its_verdict(queries: QueryEngine) -> None:
    answer = queries.ask(ReleasesQuestion(WHOLE))
    of = {one.application: one for one in answer.applications}
    checkout = of[APPLICATION]
    slower = release_fleet.slower()
    assert (checkout.newest, checkout.previous, checkout.because) == (NEWEST, PREVIOUS, None)
    newest, previous = (_version(checkout, name) for name in (NEWEST, PREVIOUS))
    assert newest.first_seen is not None
    assert newest.last_without is not None
    assert format_time(ROLL_OUT) < newest.last_without < newest.first_seen < newest.last_seen
    assert previous.first_seen is None, "it ran before the first visit"
    assert newest.share_now is not None
    assert newest.share is not None
    assert newest.share.value < newest.share_now.value < 0.6
    assert newest.share_now.lo < 0.3 < newest.share_now.hi, "12 of 40 machines run it at the end"
    assert newest.cores is not None
    comparison = checkout.comparison
    assert comparison is not None
    assert (comparison.kind, comparison.verdict, comparison.same_time) == ("release", "changed", True)
    assert comparison.worst is not None
    assert comparison.worst.key["function"] == slower
    assert comparison.worst.q <= 0.05
    factor = comparison.worst.factor
    assert factor is not None
    assert factor.lo is not None
    assert 1 < factor.lo < factor.value
    extra = comparison.worst.extra_cores
    assert extra is not None
    assert extra.value == pytest.approx(comparison.worst.delta * newest.cores.value)
    others = [one for one in answer.applications if one.application != APPLICATION]
    assert {one.comparison.verdict for one in others if one.comparison} <= {"no_change", "too_little"}
    assert answer.tested >= comparison.examined


def test_one_application_is_judged_alone(queries: QueryEngine) -> None:
    one = replace(WHOLE, matchers=parse_matchers(f'{{application="{APPLICATION}"}}'))
    answer = queries.ask(ReleasesQuestion(one))
    (found,) = answer.applications
    assert found.comparison is not None
    assert answer.tested == found.comparison.examined
    assert found.share == pytest.approx(1.0)


def test_too_few_visits_give_no_verdict(queries: QueryEngine) -> None:
    early = replace(NOW, end=ROLL_OUT + timedelta(hours=4))
    found = next(
        one for one in queries.ask(ReleasesQuestion(early)).applications if one.application == APPLICATION
    )
    assert found.newest == NEWEST
    assert found.comparison is not None
    assert (found.comparison.verdict, found.comparison.power) == ("too_little", None)
    assert found.because is not None
    assert "Not enough visits yet" in found.because.detail


def test_first_sights_and_marks_are_changes(queries: QueryEngine, module_engine: Engine) -> None:
    with module_engine.begin() as connection:
        mark, other = (
            deploys.add(
                connection, NewDeploy(name, NEWEST, ROLL_OUT, "roll-out", "https://ci.example/7", "ann")
            )
            for name in (APPLICATION, "elsewhere")
        )
    try:
        answer = queries.ask(ChangesQuestion(NOW))
        sights = [one for one in answer.changes if one.kind == "first_sight"]
        assert [(one.application, one.label, one.value, one.previous) for one in sights] == [
            (APPLICATION, "version", NEWEST, PREVIOUS)
        ]
        (sight,) = sights
        assert sight.last_without is not None
        assert format_time(ROLL_OUT) < sight.last_without < sight.time
        assert sight.visits_before is not None
        assert sight.visits_before > 60
        assert sight.chance is not None
        assert sight.chance <= 0.01
        assert sight.share_now is not None
        assert answer.known_from is not None
        assert format_time(BEGIN) <= answer.known_from < format_time(ROLL_OUT)
        assert {one.deploy_id for one in answer.changes if one.kind == "mark"} == {
            mark.deploy_id,
            other.deploy_id,
        }
        only = replace(NOW, matchers=parse_matchers(f'{{application="{APPLICATION}"}}'))
        assert [
            one.deploy_id for one in queries.ask(ChangesQuestion(only)).changes if one.kind == "mark"
        ] == [mark.deploy_id]
        assert queries.ask(ChangesQuestion(BASE)).changes == (), "nothing is new where the data begins"
    finally:
        with module_engine.begin() as connection:
            for one in (mark, other):
                deploys.remove(connection, one.deploy_id)


def test_a_night_finds_it_once(queries: QueryEngine, module_engine: Engine) -> None:
    day = END.date()
    before = queries.ask(RegressionsQuestion())
    assert (before.day, before.applications) == (None, ())
    assert before.because is not None
    assert before.next_run in before.because.detail
    with module_engine.connect() as connection:
        assert due_night(connection, end_of(day) + timedelta(hours=1)) != day, "the night has not come"
        assert due_night(connection, end_of(day) + timedelta(hours=3)) == day
    found = run_night(module_engine, queries, day)
    assert found is not None
    assert run_night(module_engine, queries, day) is None, "it is done"
    with module_engine.connect() as connection:
        assert due_night(connection, end_of(day) + timedelta(hours=3)) is None
    answer = queries.ask(RegressionsQuestion(day))
    first, *others = answer.applications
    assert first.application == APPLICATION
    assert first.comparison.worst is not None
    assert first.comparison.worst.key["function"] == release_fleet.slower()
    assert {one.comparison.verdict for one in others} <= {"no_change", "too_little"}
    assert {one.application: one.comparison for one in found} == {
        one.application: one.comparison for one in answer.applications
    }
    assert answer.tested == sum(one.comparison.examined for one in answer.applications)
    again = run_night(module_engine, queries, day, again=True)
    assert again == found, "chance is drawn once"
    assert queries.ask(RegressionsQuestion()).day == day.isoformat()


def _version(found: ReleasedApplication, name: str) -> ReleasedVersion:
    return next(one for one in found.versions if one.version == name)
