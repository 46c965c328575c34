"""GIVEN days in PostgreSQL and in the lake WHEN both are queried THEN their answers are equal."""

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from uuid import UUID, uuid4

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from storage.errors import BadSelection, UnknownCampaign
from storage.query.facts import visit_scan
from storage.query.selections.matchers import Matcher, Operator
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.flame import FlameTreeQuestion
from storage.query.shapes.labels import LabelsQuestion
from storage.query.shapes.reliability import ReliabilityQuestion
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.series import SeriesQuestion
from storage.query.shapes.table import TableQuestion
from storage.segments import manifest
from storage.segments.duck import DEFAULT, Limits, opened, translated
from storage.segments.errors import LakeBusy
from storage.segments.lake_engine import LakeEngine
from storage.segments.location import Lake
from storage.snapshots.copy_binary import TooMuch
from tests.access_paths import BY_VISITS
from tests.answer_comparison import differences
from tests.fact_writer import FactWriter
from tests.small_lake import DAY, DAYS, MIDNIGHT, SIZES, WHOLE, Drawn, Store, minutes
from tests.table_estimates import with_estimates

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("without_cells"), pytest.mark.slow]

ROOT = Path(__file__).parents[3]

a_visit = st.builds(
    Drawn,
    minute=st.integers(0, WHOLE - 1),
    stratum=st.sampled_from(sorted(SIZES)),
    utilisation=st.sampled_from([None, 0.0, 0.3, 0.6, 1.0]),
    seconds=st.sampled_from([None, 5.0, 2.5]),
    groups=st.lists(
        st.tuples(
            st.sampled_from(["", "nginx", "search 'x'", 'a"b']),
            st.sampled_from(["", "red", "blue"]),
            st.tuples(*[st.integers(0, 30)] * 6),
        ),
        max_size=3,
    ).map(tuple),
)
SOME = [
    Drawn(119 * n, groups=(("nginx", "red", (n, 2, 1, 0, 0, 3)), ("db", "", (1, 0, 0, n, 2, 0))))
    for n in range(1, 36)
]


@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
@given(
    visits=st.lists(a_visit, min_size=1, max_size=25),
    start=st.integers(0, 2 * 1440),
    length=st.integers(30, WHOLE),
    by=st.sampled_from([("function",), ("application", "machine"), ("datacenter", "function"), ("file",), ("version",)]),
    select=st.sampled_from(["{}", '{application!="nginx"}', '{application=~"s.*|a.*"}', '{datacenter="east"}']),
    more=st.sampled_from([{}, {"focus": "work"}, {"ignore": "sort|ядро"}]),
)  # fmt: skip
# No run of rounds is known of the only visit: its hour counts whole, not from the visit on (3,600 s against 120 s).
@example(visits=[Drawn(718)], start=645, length=4319, by=("datacenter", "function"), select="{}", more={})
def test_any_store_is_answered_alike(  # noqa: PLR0917 - a drawn one each
    store: Store, visits, start: int, length: int, by, select: str, more
):
    campaign = f"c{uuid4().hex}"
    store.ingest(visits, campaign)
    store.export()
    selection = minutes(start, min(start + length, WHOLE), campaign=campaign, select=select, **more)
    store.check(TableQuestion(selection, by, Page(sort=Sort.TOTAL_DESC)))
    store.check(FlameTreeQuestion(selection, 100))
    store.check(LabelsQuestion(selection))


def test_differences_and_reliability_are_those_of_postgresql(store: Store):
    store.ingest(SOME)
    store.export()
    first, second = minutes(0, 1440), minutes(1440, WHOLE)
    compared = store.check(DiffQuestion(second, first, ("function",)))
    assert any(row.q is not None for row in compared.rows)
    trusted = store.check(ReliabilityQuestion(minutes(0, WHOLE), ("function",)))
    assert trusted.entropy is not None


def test_what_no_visit_saw_is_bounded_alike(store: Store):
    store.ingest(SOME)
    store.export()
    answer = store.check(
        TableQuestion(minutes(0, WHOLE, select='{application="nosuch"}'), ("function",), Page())
    )
    assert answer.totals.samples == 0
    assert answer.totals.estimate.hi > 0


def test_users_labels_are_matched_and_grouped_by(store: Store):
    store.ingest(SOME)
    with store.engine.begin() as connection:
        write = FactWriter(connection)
        hostile = {"k8s.app/name": "$.x", "colour": 'it\'s "red"', "dollar": "$", "comm": "/a", "$.x": "1"}
        write.profile(write.visit("m", MIDNIGHT + timedelta(hours=5)), {1: 7}, labels=hostile)
    store.export()
    for select in (
        '{colour="red"}',
        '{colour!="red"}',
        '{colour=""}',
        '{k8s.app/name=~".*x"}',
        '{comm="/a"}',
        '{colour=`it\'s "red"`}',
    ):
        answer = store.check(
            TableQuestion(minutes(0, WHOLE, select=select), ("colour", "k8s.app/name"), Page())
        )
        assert answer.rows, select
    path = replace(minutes(0, WHOLE), matchers=(Matcher("$.x", Operator.EQUAL, "1"),))
    assert store.check(TableQuestion(path, ("$.x",), Page())).rows[0].key == {"$.x": "1"}


def test_events_without_stacks_gauges_and_manual_visits(store: Store):
    store.ingest(SOME)
    store.ingest(SOME[::3], event="page-faults", unit="count", stacks=False)
    with store.engine.begin() as connection:
        write = FactWriter(connection)
        for n in range(3):
            write.profile(
                write.visit("m", MIDNIGHT + timedelta(hours=n), campaign_name="by hand"), {1: 7, 2: 1}
            )
    store.export()
    of_faults = TableQuestion(minutes(0, WHOLE, event="page-faults"), ("function",), Page())
    faults = store.check(of_faults)
    assert faults.selection.unit == "count"
    assert faults.rows
    _, behind = with_estimates(store.postgres.ask, of_faults)
    _, lakes = with_estimates(lambda question: store.duckdb.ask(question).answer, of_faults)
    assert behind.keys() == {tuple(row.key.values()) for row in faults.rows}
    assert not differences(behind, lakes)
    by_hand = store.check(TableQuestion(minutes(0, WHOLE, campaign="by hand"), ("function",), Page()))
    assert by_hand.totals.design == "none"
    for question in (
        TableQuestion(minutes(0, WHOLE, event="llc-misses"), ("function",), Page()),
        TableQuestion(minutes(0, WHOLE, campaign="none"), ("function",), Page()),
        TableQuestion(minutes(0, WHOLE, select='{nothing="x"}'), ("function",), Page()),
    ):
        for engine in (store.postgres, store.duckdb):
            with pytest.raises((BadSelection, UnknownCampaign)):
                engine.ask(question)


def test_of_too_much_both_read_the_same_part(store: Store, monkeypatch: pytest.MonkeyPatch):
    # The part is one of visits' ids: of random ones it is now and then larger than may be read.
    ids = Random(7)
    monkeypatch.setattr("tests.fact_writer.uuid4", lambda: UUID(int=ids.getrandbits(128), version=4))
    store.ingest(SOME)
    store.export()
    monkeypatch.setattr(visit_scan, "MAX_FACTS", 100)
    answer = store.check(TableQuestion(minutes(0, WHOLE), ("function",), Page()))
    assert answer.totals.approximate
    assert 0 < answer.totals.visits < len(SOME)


def test_a_function_that_got_a_name_has_it_once_a_day_is_exported_again(store: Store):
    with store.engine.begin() as connection:
        write = FactWriter(connection)
        nameless, named = write.function("lib.so+0x10", status=1, start=("ab", 16)), write.function("crc32")
        main = write.function("main")
        both = write.stack([main, nameless]), write.stack([main, named])
        for n in (1, 30):
            write.profile(write.visit("m", MIDNIGHT + timedelta(hours=n)), dict.fromkeys(both, 2))
    store.export(0, 1)
    question = TableQuestion(minutes(0, WHOLE), ("function",), Page())
    assert len(store.check(question).rows) == 3
    with store.engine.begin() as connection:
        FactWriter(connection).alias(nameless, named)
    store.export(1)
    assert {row.key["function"] for row in store.check(question).rows} == {"main", "crc32"}, (
        "the name that was exported last is that of all days"
    )


def test_a_day_the_lake_lacks_is_said_and_not_covered(store: Store):
    store.ingest(SOME)
    store.export(0, 2)
    question = TableQuestion(minutes(0, WHOLE), ("function",), Page())
    found = store.duckdb.ask(question)
    assert found.missing == (DAY + timedelta(days=1),)
    assert found.days == (DAY, DAY + timedelta(days=2))
    whole = store.postgres.ask(question).totals
    totals = found.answer.totals
    assert totals.selected_seconds == whole.selected_seconds
    assert totals.covered_seconds < whole.covered_seconds
    # A campaign goes on since before the day that is asked, also where the lake lacks its beginning.
    store.check(TableQuestion(minutes(2 * 1440, WHOLE), ("function",), Page()))


def test_hours_of_days_exported_before_runs_were_kept_count_whole_but_a_campaigns_first(store: Store):
    store.ingest([Drawn(50 + 60 * hour) for hour in range(30)])
    for made in store.export():
        document = json.loads(manifest.render(made))
        del document["covered"]
        store.lake.put(manifest.key_of(made.day), json.dumps(document | {"format": 2}).encode())
    answer = store.duckdb.ask(TableQuestion(minutes(0, WHOLE), ("function",), Page())).answer
    assert answer.totals.covered_seconds == 600 + 29 * 3600


def test_neither_estimates_a_day_without_ingested_visits(store: Store):
    store.ingest([visit for visit in SOME if visit.minute < 1440 or visit.minute >= 2 * 1440])
    store.ingest([Drawn(1440 + 60 * n, seconds=None) for n in range(24)])
    store.export()
    totals = store.check(TableQuestion(minutes(0, WHOLE), ("function",), Page())).totals
    assert totals.covered_seconds - totals.estimated_seconds == 86_400
    series = store.check(SeriesQuestion(minutes(0, WHOLE), step_s=86_400))
    assert [step.estimated_seconds > 0 for step in series.steps] == [True, False, True]


def test_a_time_the_lake_has_nothing_of_is_refused(store: Store):
    question = TableQuestion(minutes(0, 60), ("function",), Page())
    with pytest.raises(BadSelection, match="no days yet"):
        store.duckdb.ask(question)
    store.ingest(SOME)
    store.export(1)
    with pytest.raises(BadSelection, match="Days of the lake: 2026-11-11 to 2026-11-11"):
        store.duckdb.ask(question)


def test_a_day_that_is_exported_again_meanwhile_is_read_again(store: Store, monkeypatch: pytest.MonkeyPatch):
    store.ingest(SOME)
    [old, *_] = store.export()
    read, [new] = manifest.read, store.export(0)
    assert old.stamp < new.stamp
    given = [old]
    monkeypatch.setattr(
        "storage.segments.lake_engine.manifest.read",
        lambda lake, day: given.pop() if day == DAY and given else read(lake, day),
    )
    store.check(TableQuestion(minutes(0, WHOLE), ("function",), Page()))
    assert not given, "the old files were tried first"


def test_the_lake_may_be_an_object_store(engine: Engine, store: Store):
    store.ingest(SOME)
    in_memory = Store(engine, Lake(f"memory://lake-{uuid4().hex}"))
    in_memory.postgres.planner = BY_VISITS
    in_memory.export()
    in_memory.check(TableQuestion(minutes(0, WHOLE), ("application",), Page()))
    in_memory.postgres.close()


def test_what_the_lake_does_not_keep_is_refused(store: Store):
    store.ingest(SOME)
    store.export()
    with pytest.raises(BadSelection, match="no source lines"):
        store.duckdb.ask(TableQuestion(minutes(0, WHOLE), ("line",), Page()))


def test_what_does_not_fit_into_memory_goes_to_disk(store: Store, tmp_path: Path):
    store.ingest(SOME)
    made = store.export(0)
    sort = "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY hash(range), range) n FROM range(4000000)) WHERE n > 0"
    limits = Limits(memory_bytes=48 << 20, threads=1, spill=tmp_path / "made" / "spill")
    with opened(store.lake, made, limits) as duck:
        assert duck.execute(sort).fetchall() == [(4_000_000,)]
    with opened(store.lake, made, replace(limits, spill=None)) as duck, pytest.raises(TooMuch), translated():
        duck.execute(sort).fetchall()


def test_duckdb_stops_at_its_limits_and_reads_the_lake_alone(store: Store, tmp_path: Path):
    store.ingest(SOME)
    made = store.export()
    with opened(store.lake, made, Limits(timeout_s=0.3)) as duck, pytest.raises(LakeBusy), translated():
        duck.execute("SELECT count(*) FROM range(1000000000000) a WHERE hash(a.range) = 1").fetchall()
    with opened(store.lake, made, Limits()) as duck:
        (tmp_path / "secret.csv").write_text("a\n1\n")
        with pytest.raises(duckdb.PermissionException):
            duck.execute(f"SELECT * FROM read_csv('{tmp_path / 'secret.csv'}')").fetchall()
        with pytest.raises(duckdb.InvalidInputException):
            duck.execute("SET enable_external_access = true")
    starved = LakeEngine(store.lake, Limits(memory_bytes=1 << 20))
    with pytest.raises(TooMuch):
        starved.ask(TableQuestion(minutes(0, WHOLE), ("function",), Page()))


def test_the_sql_of_the_documentation_gives_the_estimates_of_the_answers(store: Store):
    store.ingest(SOME)
    made = store.export()
    sql = re.search(r"```sql\n(.+?)```", (ROOT / "docs/lake.md").read_text(), re.DOTALL)[1]
    with opened(store.lake, made, DEFAULT) as duck:
        found = duck.execute(sql).fetchall()
    wanted: dict[tuple[str, str], float] = Counter()
    for day in range(DAYS):  # a weight is that of its day asked alone
        selection = minutes(1440 * day, 1440 * (day + 1))
        table = store.check(TableQuestion(selection, ("application", "function"), Page()))
        for row in table.rows:
            if row.self:
                seconds = row.self_core_seconds.value
                wanted[row.key["application"], row.key["function"]] += seconds
    assert not differences({(app, name): seconds for app, name, seconds in found}, dict(wanted))
