"""GIVEN two days of a fleet WHEN a release made a function slower THEN it is named, and so is the release."""

from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pytest
from sqlalchemy import Engine

from services.api.encoded_response import as_json
from storage.query.answers.answer import adapter
from storage.query.answers.diff import DiffRow
from storage.query.answers.movers import MoversAnswer
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.movers import MoversQuestion
from tests.answer_comparison import differences
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

DAY = datetime(2026, 11, 18, tzinfo=UTC)
NOW, BASE = (Selection(DAY + timedelta(days=n), DAY + timedelta(days=n, hours=1)) for n in (1, 0))
NAMES = ("main", "parse", "render", "send", "log")
RATES = (40, 20, 20, 20, 10)
SLOW = {"2": {"parse": 4.0}}
"""What version 2 does to functions."""


@pytest.fixture(scope="module")
def ingested(module_engine: Engine) -> Engine:
    """Of 60 visits on the first day all see version 1, on the second half of them version 2."""
    random = np.random.default_rng(5)
    with module_engine.begin() as connection:
        fleet = Campaign(connection, {"east": 400, "west": 400}, random=Random(3))
        write = fleet.write
        functions = {name: write.function(name) for name in NAMES}
        stacks = {name: write.stack([functions["main"], functions[name]]) for name in NAMES}
        for day in (0, 1):
            for number in range(60):
                at = DAY + timedelta(days=day, minutes=number)
                visit = fleet.answer(at, ("east", "west")[number % 2], utilisation=0.5)
                version = "2" if day and number % 4 < 2 else "1"
                load = random.gamma(9, 1 / 9)
                counts = {
                    stacks[name]: int(random.poisson(rate * load * SLOW.get(version, {}).get(name, 1.0)))
                    for name, rate in zip(NAMES, RATES, strict=True)
                }
                write.profile(
                    visit,
                    {stack: count for stack, count in counts.items() if count},
                    labels={
                        "application": "web",
                        "version": version,
                        "compiler": f"gcc-{11 + number % 3}",
                        "platform": "Zen 3",
                    },
                )
    return module_engine


@pytest.fixture(scope="module")
def queries(module_engine: Engine) -> Iterator[QueryEngine]:
    made = QueryEngine(module_engine)
    yield made
    made.close()


@pytest.mark.slow
def test_the_release_is_named(ingested: Engine, queries: QueryEngine):
    question = MoversQuestion(NOW, BASE, releases=False)
    answer = queries.ask(question)
    first = answer.movers[0]
    assert first.key["function"] == "parse"
    assert first.delta > 0.1
    assert first.q is not None
    assert first.q <= 0.05
    assert first.cause is not None
    assert first.cause.best is not None
    assert (first.cause.best.label, first.cause.best.value, first.cause.best.kind) == ("version", "2", "mix")
    assert first.cause.best.explained.lo > 0.5
    assert (first.cause.visits, first.cause.base_visits) == (60, 60)
    assert answer.labels == ("version", "compiler"), "one platform explains nothing"
    assert {one.label for one in first.cause.explanations} == {"version", "compiler"}
    assert not any(one.significant for one in first.cause.explanations if one.label == "compiler")
    assert answer.because is None
    assert answer.part == 1
    assert queries.ask(question) == answer, "chance is drawn once"
    # The compared table is that of a diff, and a mover is one of its rows.
    compared = queries.ask(DiffQuestion(NOW, BASE, limit=question.examined, own=True))
    rows = {row.key["function"]: row for row in compared.rows}
    for mover in answer.movers:
        alike = {each.name: getattr(mover, each.name) for each in fields(DiffRow)}
        assert not differences(DiffRow(**alike), rows[mover.key["function"]])
    assert (answer.examined, answer.rows_total) == (len(compared.rows), compared.rows_total)
    assert [abs(mover.delta) for mover in answer.movers] == sorted(
        (abs(mover.delta) for mover in answer.movers), reverse=True
    )
    assert answer.totals.visits == answer.base_totals.visits == 60


def test_the_document_says_what_was_found(ingested: Engine, queries: QueryEngine):
    question = MoversQuestion(NOW, BASE, explain=1)
    answer = queries.ask(question)
    judged = replace(answer, part=0.5, compared_part=0.25)
    found = adapter(MoversAnswer).validate_json(as_json(judged)[0])
    assert found == judged
    assert (found.part, found.compared_part) == (0.5, 0.25)
    first, *others = found.movers
    assert first.cause is not None
    assert first.cause.best is not None
    assert (first.cause.best.label, first.cause.best.kind, first.cause.best.value) == ("version", "mix", "2")
    assert first.cause.best.explained.lo <= first.cause.best.explained.value <= first.cause.best.explained.hi
    assert first.because is None
    assert first.cores is not None
    assert first.cores.lo > 0, "more cores run it, not only a larger share"
    assert {mover.because.reason for mover in others if mover.because} <= {"not_computed"}
    assert (found.examined, found.rows_total, found.labels) == (5, 5, ("version", "compiler"))


def test_causes_are_computed_only_as_requested(
    ingested: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
):
    nothing = queries.ask(MoversQuestion(NOW, BASE, explain=0))
    assert {mover.because.reason for mover in nothing.movers if mover.because} == {"not_computed"}
    alike = queries.ask(MoversQuestion(NOW, BASE, labels=("platform", "application")))
    assert alike.movers[0].because is not None
    assert (alike.movers[0].because.reason, alike.labels) == ("constant", ())
    assert queries.ask(MoversQuestion(NOW, BASE, least=0.9)).movers == ()
    monkeypatch.setattr("storage.query.shapes.movers._MOST_VISITS", 60)
    part = queries.ask(MoversQuestion(NOW, BASE, explain=1))
    assert part.part == 0.5
    cause = part.movers[0].cause
    assert cause is not None
    assert cause.visits + cause.base_visits == 60
    monkeypatch.setattr("storage.query.shapes.movers._MOST_VISITS", 6)
    few = queries.ask(MoversQuestion(NOW, BASE, explain=1)).movers[0].because
    assert few is not None
    assert few.reason == "too_little"


def test_applications_move_too(ingested: Engine, queries: QueryEngine):
    by_version = queries.ask(MoversQuestion(NOW, BASE, ("version",)))
    assert {mover.key["version"] for mover in by_version.movers} == {"1", "2"}
    assert by_version.labels == ("compiler",), "what rows go by explains none of them"


def test_without_samples_or_a_design_nothing_moved_and_that_is_said(ingested: Engine, queries: QueryEngine):
    empty = Selection(DAY - timedelta(days=3), DAY - timedelta(days=2))
    answered = queries.ask(MoversQuestion(NOW, empty, releases=False))
    assert answered.movers == ()
    assert answered.because is not None
    assert answered.because.reason == "too_little"


def test_nothing_moves_between_a_day_and_itself(ingested: Engine, queries: QueryEngine):
    answer = queries.ask(MoversQuestion(BASE, BASE))
    assert (answer.movers, answer.because) == ((), None)
