"""Which samples an answer is of, and what is said of those that are incomplete."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from storage.errors import BadSelection, UnknownCampaign
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import parse_selection
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.labels import LabelsQuestion
from storage.query.shapes.row_order import Page
from storage.query.shapes.status import StatusQuestion
from storage.query.shapes.table import TableQuestion
from tests.fact_writer import FactWriter
from tests.integration.query_engine.asking import NOON, PERIOD, around_noon, shown

pytestmark = pytest.mark.integration


def test_a_store_without_samples_answers_with_nothing(queries: QueryEngine):
    answer = queries.ask(TableQuestion(around_noon(), ("function",), Page()))
    assert answer.rows == ()
    assert answer.totals.units == 0
    flame = queries.ask(FlameTreeQuestion(around_noon(), 100)).flame
    assert flame.total.tolist() == [0]
    assert queries.ask(LabelsQuestion(around_noon())).labels == ()
    assert queries.ask(StatusQuestion()).latest is None


def test_recursion_counts_a_sample_once(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        main, fib = (
            write.function("main", file="m.c", binary="prog"),
            write.function("fib", file="f.c", binary="prog"),
        )
        deep, flat = write.stack([main, fib, fib, fib]), write.stack([main, fib])
        write.profile(write.visit("m1", NOON), {deep: 3, flat: 2})
    by_function = shown(queries.ask(TableQuestion(around_noon(), ("function",), Page())))
    assert by_function == {
        ("fib", "f.c", "prog"): (5 * PERIOD, 5 * PERIOD),
        ("main", "m.c", "prog"): (0, 5 * PERIOD),
    }
    by_binary = shown(queries.ask(TableQuestion(around_noon(), ("binary",), Page())))
    assert by_binary == {("prog",): (5 * PERIOD, 5 * PERIOD)}


def test_markers_say_what_is_incomplete(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        cut = write.function("[stack: cut short]", kind=2)
        main, leaf = write.function("main"), write.function("[libx.so]", status=1)
        samples = {
            write.stack([main]): 6,
            write.stack([cut, main]): 1,
            write.stack([main, leaf]): 2,
            write.stack([cut]): 1,
        }
        write.profile(write.visit("m1", NOON), samples)
    totals = queries.ask(TableQuestion(around_noon(), ("function",), Page())).totals
    assert totals.complete == pytest.approx(0.8)
    assert totals.symbolized == pytest.approx(0.7)
    assert totals.leaf_symbolized == pytest.approx(0.7)


def test_campaigns_events_and_depths_never_add_up(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function("f")])
        write.profile(write.visit("m1", NOON), {stack: 1})
        write.profile(write.visit("m1", NOON, campaign_name="by-hand"), {stack: 10})
        visit = write.visit("m1", NOON)
        write.profile(visit, {stack: 100}, stacks=False)
        write.profile(visit, {stack: 7}, event="page-faults", unit="count", period=2, stacks=False)
    assert queries.ask(TableQuestion(around_noon(), ("function",), Page())).totals.samples == 1
    assert (
        queries.ask(TableQuestion(around_noon(campaign="by-hand"), ("function",), Page())).totals.samples
        == 10
    )
    assert (
        queries.ask(TableQuestion(around_noon(event="page-faults"), ("function",), Page())).totals.units == 14
    )
    with pytest.raises(UnknownCampaign):
        queries.ask(TableQuestion(around_noon(campaign="nobody"), ("function",), Page()))
    with pytest.raises(BadSelection, match="Unknown event 'wall'") as caught:
        queries.ask(TableQuestion(around_noon(event="wall"), ("function",), Page()))
    assert "page-faults (count)" in caught.value.hint


def test_the_time_range_is_half_open(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function("f")])
        for minutes in (-60, 0, 59, 60):
            write.profile(write.visit("m1", NOON + timedelta(minutes=minutes)), {stack: 1})
        write.profile(write.visit("m1", datetime(2026, 11, 20, 23, 59, tzinfo=UTC)), {stack: 1})
    assert queries.ask(TableQuestion(around_noon(), ("function",), Page())).totals.samples == 3
    two_days = parse_selection(start="2026-11-20T00:00:00Z", end="2026-11-22T00:00:00Z")
    assert queries.ask(TableQuestion(two_days, ("function",), Page())).totals.samples == 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("{}", {"a", "b", "c", ""}),
        ('{app="a"}', {"a"}),
        ('{application!="a"}', {"b", "c", ""}),
        ('{application=~"a|b"}', {"a", "b"}),
        ('{application=~"."}', {"a", "b", "c"}),
        ('{application!~"a|b"}', {"c", ""}),
        ('{application=""}', {""}),
        ('{machine="m1"}', {"a", "c", ""}),
        ('{machine!~"m[13]"}', {"b"}),
        ('{team="x"}', {"a"}),
        ('{team=""}', {"c", ""}),
        ('{team!=""}', {"a", "b"}),
        ('{team=~"x?"}', {"a", "c", ""}),
        ('{team!="x",machine="m1"}', {"c", ""}),
        ('{application="\'; drop table profile; --"}', set()),
        ('{application="100%(s)s %s"}', set()),
    ],
)
def test_matchers_choose_profiles(engine: Engine, queries: QueryEngine, select: str, expected: set[str]):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function("f")])
        one, two = write.visit("m1", NOON), write.visit("m2", NOON)
        write.profile(one, {stack: 1}, labels={"application": "a", "team": "x"})
        write.profile(two, {stack: 1}, labels={"application": "b", "team": "y"})
        write.profile(one, {stack: 1}, labels={"application": "c"})
        write.profile(one, {stack: 1}, labels={"comm": "none"})
    answer = queries.ask(TableQuestion(around_noon(select=select), ("application",), Page()))
    assert {row.key["application"] for row in answer.rows} == expected


def test_a_label_nobody_has_is_an_error_and_not_an_empty_answer(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        write.profile(write.visit("m1", NOON), {write.stack([write.function("f")]): 1}, labels={"team": "x"})
    with pytest.raises(BadSelection, match="No profile has a label 'taem'") as caught:
        queries.ask(TableQuestion(around_noon(select='{taem="x"}'), ("function",), Page()))
    assert caught.value.hint == "Did you mean team?"
    assert (caught.value.parameter, caught.value.at) == ("select", 1)
    with pytest.raises(BadSelection, match="No profile has a label 'Platfrm'") as caught:
        queries.ask(TableQuestion(around_noon(), ("function", "Platfrm"), Page()))
    assert (caught.value.hint, caught.value.parameter) == ("Did you mean platform?", "by")
    with pytest.raises(BadSelection, match="Unknown event 'cpuu'") as caught:
        queries.ask(TableQuestion(around_noon(event="cpuu"), ("function",), Page()))
    assert (caught.value.hint, caught.value.parameter) == (
        "Did you mean cpu? Events: cpu (nanoseconds).",
        "event",
    )


def test_labels_with_their_shares(engine: Engine, queries: QueryEngine):
    with engine.begin() as connection:
        write = FactWriter(connection)
        stack = write.stack([write.function("f")])
        visit = write.visit("m1", NOON)
        for number in range(1, 5):
            write.profile(visit, {stack: number}, labels={"application": f"app{number}", "team": "x"})
    found = {label.name: label for label in queries.ask(LabelsQuestion(around_noon(), limit=3)).labels}
    assert [(v.value, v.seconds) for v in found["application"].values] == [
        ("app4", 4 * PERIOD * 1e-9), ("app3", 3 * PERIOD * 1e-9), ("app2", 2 * PERIOD * 1e-9),
    ]  # fmt: skip
    assert found["application"].more == 1
    assert [(v.value, v.seconds) for v in found["team"].values] == [("x", 10 * PERIOD * 1e-9)]
    assert "container" not in found
