"""Distinct stacks of a real store, against counting by hand."""

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from services.api.formats import pprof
from services.api.formats.stack_profile import profile_of
from storage.errors import BadSelection
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.row_order import Page
from storage.query.shapes.stack_samples import StackSamplesQuestion
from storage.query.shapes.table import TableQuestion
from tests.profile_proto import read
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

START = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
PERIOD = 10_000_000
NAMES = ("main", "work", "read", "main")
"""By number; the last is of another binary."""
SIZES = {"east": 90, "west": 6}

stack = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple)
visits = st.lists(
    st.tuples(
        st.sampled_from(sorted(SIZES)),
        st.dictionaries(
            st.sampled_from(["web", "batch", ""]), st.dictionaries(stack, st.integers(1, 9), min_size=1, max_size=4)
        ),
    ),
    min_size=1,
    max_size=6,
)  # fmt: skip


def hour(**more) -> Selection:
    return parse_selection(start="2026-11-18T12:00:00Z", end="2026-11-18T13:00:00Z", **more)


def ingested(engine: Engine, taken: list) -> None:
    """Visits of 5 s each, of a random design."""
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "TRUNCATE visit, capture, capture_segment, rollup_queue, profile, chunk, function, coverage CASCADE"
        )
        campaign = Campaign(connection, SIZES, random=Random(1))
        write = campaign.write
        ids = [
            write.function(name, binary="prog" if number < 3 else "other")
            for number, name in enumerate(NAMES)
        ]
        for number, (where, groups) in enumerate(taken):
            visit = campaign.answer(START + timedelta(minutes=number), where, machine=f"{where}{number}")
            for application, samples in groups.items():
                counts: Counter = Counter()
                for frames, count in samples.items():
                    counts[write.stack([ids[f] for f in frames])] += count
                write.profile(visit, counts, labels={"application": application}, period=PERIOD)


@pytest.mark.slow
@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
@given(taken=visits, divided=st.booleans(), hides=st.booleans())
def test_stacks_are_what_counting_says(engine: Engine, taken: list, divided: bool, hides: bool) -> None:
    ingested(engine, taken)
    samples: Counter = Counter()
    for _, groups in taken:
        for application, counts in groups.items():
            for frames, count in counts.items():
                shown = tuple((NAMES[f], f == 3) for f in frames if not (hides and NAMES[f] == "main"))
                if shown:
                    key = shown, (application,) if divided else ()
                    samples[key] += count
    queries = QueryEngine(engine)
    selection = hour(hide="^main$" if hides else "")
    labels = ("application",) if divided else ()
    found = queries.ask(StackSamplesQuestion(selection, labels, estimated=True))
    table = found.table
    keys = [
        (
            tuple(
                (table.functions[f].name, table.functions[f].binary == "other") for f in table.frames(place)
            ),
            table.groups[int(table.group[place])],
        )
        for place in range(len(table))
    ]
    assert dict(zip(keys, table.samples.tolist(), strict=True)) == samples
    assert table.units.tolist() == [samples[key] * PERIOD for key in keys]
    assert found.estimates is not None
    for place, estimate in enumerate(found.estimates):
        assert estimate is not None
        assert estimate.units.value == pytest.approx(float(table.weight[place]))
        assert estimate.share.value == pytest.approx(float(table.weight[place]) / found.whole)

    rows = queries.ask(TableQuestion(selection, ("function",), Page())).rows
    queries.close()
    of_leaf: dict = defaultdict(float)
    for (frames, _), weight in zip(keys, table.weight.tolist(), strict=True):
        of_leaf[frames[-1]] += weight
    for row in rows:
        assert row.self_core_seconds is not None
        leaf = row.key["function"], row.key["binary"] == "other"
        assert of_leaf[leaf] * 1e-9 == pytest.approx(row.self_core_seconds.value)
    profile = read(b"".join(pprof.plain(profile_of(selection, found, source=""))))
    own: Counter = Counter()
    total: Counter = Counter()
    for sample in profile.sample:
        own[sample.location_id[0]] += sample.value[1]
        for id_ in set(sample.location_id):
            total[id_] += sample.value[1]
    by_name = {
        (profile.string_table[function.name], function.id): (own[function.id], total[function.id])
        for function in profile.function
    }
    assert sorted((name, sums) for (name, _), sums in by_name.items()) == sorted(
        (row.key["function"], (row.self, row.total)) for row in rows
    )


def test_the_lightest_are_left_out_and_counted(engine: Engine) -> None:
    ingested(engine, [("east", {"web": {(0,): 5, (0, 1): 3, (0, 2): 1}}), ("west", {})])
    queries = QueryEngine(engine)
    found = queries.ask(StackSamplesQuestion(hour(), most=2))
    nothing = queries.ask(StackSamplesQuestion(hour(select='{application="none"}'), ("application",)))
    queries.close()
    assert found.table.samples.tolist() == [5, 3]
    assert (found.table.remainder.stacks, found.table.remainder.samples) == (1, 1)
    assert found.table.remainder.units == PERIOD
    assert found.table.remainder.weight == pytest.approx(found.totals.estimate.value / 9)
    assert (len(nothing.table), nothing.table.remainder.stacks) == (0, 0)
    assert read(b"".join(pprof.plain(profile_of(hour(), nothing, source="")))).sample == []


@pytest.mark.parametrize("labels", [("function",), ("a",) * 2, tuple("abcdefg")])
def test_what_cannot_divide_stacks_is_refused(labels: tuple[str, ...]) -> None:
    with pytest.raises(BadSelection):
        StackSamplesQuestion(hour(), labels)
