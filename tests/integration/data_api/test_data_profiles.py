"""GIVEN a random fleet WHEN its profiles are streamed THEN they add up to what a table of it says."""

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, update

from storage.query.estimation.estimates import Estimate, estimates
from storage.query.query_engine import QueryEngine
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import TableQuestion, all_rows
from storage.schema import sample_type
from tests.integration.test_query_estimates import a_visit, ingest, minutes
from tests.stream_records import facts, kinds, profiles, streams, visits
from tests.weights_oracle import Drawn

pytestmark = pytest.mark.integration

MIDNIGHT = datetime(2026, 11, 18, 0, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class OwnEstimates:
    """Estimates of each function's self, in the event's units: tables have them for events of time only."""

    selection: Selection

    def answer(self, reading: Reading) -> dict[str, Estimate | None]:
        by = ("function",)
        rows = all_rows(reading, reading.samples(self.selection, (), "function"), by)
        found = estimates(rows.details(np.arange(len(rows.own))).own, len(rows.own))
        return {rows.key(place)["function"]: each for place, each in enumerate(found)}


def moment(minute: int) -> str:
    return (MIDNIGHT + timedelta(minutes=minute)).isoformat()


@pytest.mark.slow
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
@given(
    drawn=st.lists(a_visit, max_size=25),
    times=st.tuples(st.integers(22 * 60, 25 * 60), st.integers(25 * 60 + 1, 26 * 60)),
    select=st.sampled_from(["{}", '{application="app1"}', '{application!="app1",machine=~".+"}']),
    frames=st.sampled_from(
        [{}, {"focus": "work"}, {"ignore": "^wait$"}, {"hide": "main"}, {"show_from": "work"}]
    ),
)
def test_the_weighted_sum_of_records_is_the_tables_estimate(engine: Engine, drawn, times, select, frames):
    campaign = uuid4().hex
    ingest(engine, drawn, campaign)
    texts = {"campaign": campaign, "select": select, **frames}
    records = profiles(streams(engine), moment(times[0]), moment(times[1]), **texts)
    queries = QueryEngine(engine)
    table = queries.ask(TableQuestion(minutes(*times, **texts), ("function",), Page(limit=100)))
    queries.close()

    seen = visits(records)
    order = [(v.visit.drawn_at.ToNanoseconds(), v.visit.visit_id) for v in seen]
    assert order == sorted(set(order))
    assert kinds(records)[-1:] == ["progress"]
    assert records[-1].progress.done
    observed, estimated, totals = Counter(), Counter(), Counter()
    for visit in seen:
        for stack, units in facts(visit).items():
            observed[stack[-1]] += units
            estimated[stack[-1]] += units * visit.weight
            for name in set(stack):
                totals[name] += units
    rows = {row.key["function"]: row for row in table.rows}
    assert {name: row.self for name, row in rows.items() if row.self} == dict(observed)
    assert {name: row.total for name, row in rows.items()} == dict(totals)
    for name, row in rows.items():
        if row.self_lo is not None:
            assert estimated[name] == pytest.approx(row.self_core_seconds.value * 1e9)
    weighed = [record.design for record in records if record.HasField("design")]
    assert sum(design.visits for design in weighed) == table.totals.visits_ingested == len(seen)
    for visit in seen:
        (design,) = [d for d in weighed if d.day == visit.visit.day]
        assert design.design == visit.design
        (cell,) = [
            c
            for c in design.cells
            if (c.stratum, c.utilisation_class) == (visit.visit.stratum, visit.utilisation_class)
        ]
        assert (cell.weight, cell.group) == (visit.weight, visit.group)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "gauge"),
    [
        ({"event": "faults", "unit": "count", "stacks": False}, False),
        ({"event": "heap", "unit": "bytes"}, True),
    ],
)
def test_leaves_and_levels_are_weighed_as_tables_weigh_them(engine: Engine, event: dict, gauge: bool):
    campaign = uuid4().hex
    drawn = [
        Drawn(minute=22 * 60 + 7 * n, stratum=("east", "west")[n % 2], utilisation=0.3, seconds=(5.0, 2.5)[n % 3 > 0], samples=(n, 3, 20 - n))
        for n in range(20)
    ]  # fmt: skip
    ingest(engine, drawn, campaign, **event)
    with engine.begin() as connection:
        connection.execute(
            update(sample_type)
            .where(sample_type.c.event == event["event"])
            .values(kind="gauge" if gauge else "rate")
        )
    ingest(engine, [Drawn(48 * 60 + 30 * n, "east", 0.3, None) for n in range(6)], campaign)
    texts = {"campaign": campaign, "event": event["event"]}
    records = profiles(streams(engine), moment(22 * 60), moment(51 * 60), **texts)
    queries = QueryEngine(engine)
    selection = minutes(22 * 60, 51 * 60, **texts)
    table = queries.ask(TableQuestion(selection, ("function",), Page(limit=100)))
    own = queries.ask(OwnEstimates(selection))
    assert table.totals.estimated_seconds < table.totals.covered_seconds
    queries.close()
    seen = visits(records)
    assert (len(seen), kinds(records).count("design")) == (20, 3)
    assert {(visit.gauge, visit.has_stacks) for visit in seen} == {(gauge, event.get("stacks", True))}
    estimated = Counter()
    for visit in seen:
        for stack, units in facts(visit).items():
            estimated[stack[-1]] += units * visit.weight
    for row in table.rows:
        name = row.key["function"]
        assert estimated[name] == pytest.approx(own[name].units.value)
        assert (row.self_lo, row.self_hi) == (own[name].share.lo, own[name].share.hi)
        assert estimated[name] == pytest.approx(row.self_share * table.totals.estimate.value)
