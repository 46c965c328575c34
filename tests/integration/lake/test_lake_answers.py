"""GIVEN days in PostgreSQL and in the lake WHEN both are asked THEN they answer alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from storage.lake.engine import LakeEngine
from storage.lake.export import export_day
from storage.lake.place import Lake
from storage.query.engine import QueryEngine
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.flame import FlameQuestion
from storage.query.shapes.labels import LabelsQuestion
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.table import TableQuestion
from tests.alike import differences
from tests.designed import Campaign
from tests.facts import FactWriter

pytestmark = pytest.mark.integration

DAY = date(2026, 11, 18)
MIDNIGHT = datetime(2026, 11, 18, tzinfo=UTC)
SIZES = {"east": 100, "west": 40, "north": 7}
NAMES = ("main", "work", "wait", "std::sort<int>", "ядро")
APPLICATIONS = ("", "nginx", "search 'x'", 'a"b')


@dataclass(frozen=True)
class Drawn:
    """A visit; `groups` are (application, user label, samples by stack)."""

    minute: int
    stratum: str
    utilisation: float | None
    seconds: float | None
    groups: tuple[tuple[str, str, tuple[int, ...]], ...]


a_visit = st.builds(
    Drawn,
    minute=st.integers(0, 3 * 1440 - 1),
    stratum=st.sampled_from(sorted(SIZES)),
    utilisation=st.sampled_from([None, 0.0, 0.3, 0.6, 1.0]),
    seconds=st.sampled_from([None, 5.0, 2.5]),
    groups=st.lists(
        st.tuples(
            st.sampled_from(APPLICATIONS),
            st.sampled_from(["", "red", "blue"]),
            st.tuples(*[st.integers(0, 30)] * 6),
        ),
        max_size=3,
    ).map(tuple),
)


class Store:
    """Both engines over the same days."""

    def __init__(self, engine: Engine, lake: Lake) -> None:
        self.engine = engine
        self.lake = lake
        self.postgres = QueryEngine(engine)
        self.duckdb = LakeEngine(lake)

    def export(self, days: int = 3) -> None:
        for n in range(days):
            assert export_day(self.engine, self.lake, DAY + timedelta(days=n), rows_a_file=50) is not None

    def check(self, question) -> object:
        wanted = self.postgres.ask(question)
        found = self.duckdb.ask(question).answer
        assert not differences(wanted, found)
        return wanted


@pytest.fixture
def store(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    # Visit by visit: cells know fewer figures, and estimate the variance of some otherwise.
    monkeypatch.setattr("storage.query.cells.planner.plan", lambda *_, **__: None)
    made = Store(engine, Lake(str(tmp_path / "lake")))
    yield made
    made.postgres.close()


def minutes(start: int, end: int, **more: str) -> Selection:
    bounds = [(MIDNIGHT + timedelta(minutes=m)).isoformat() for m in (start, end)]
    return parse_selection(start=bounds[0], end=bounds[1], **more)


def land(engine: Engine, visits: list[Drawn], name: str) -> None:
    with engine.begin() as connection:
        fleet = Campaign(connection, SIZES, name)
        write = fleet.write
        main, work, wait, sort, kernel = (
            write.function(n, binary=f"bin-{n[:2]}", file=f"{n[:3]}.c", status=3 - i % 3)
            for i, n in enumerate(NAMES)
        )
        stacks = [
            write.stack(frames)
            for frames in (
                [main],
                [main, work],
                [main, wait, work],
                [main, work, work, sort],
                [kernel],
                [main, kernel],
            )
        ]
        for day in range(3):  # partitions, also of a day without visits
            write_day(write, day)
        for visit in visits:
            at = MIDNIGHT + timedelta(minutes=visit.minute)
            if visit.seconds is None:
                fleet.fail(at, visit.stratum, utilisation=visit.utilisation)
                continue
            landed = fleet.answer(at, visit.stratum, utilisation=visit.utilisation, seconds=visit.seconds)
            for application, colour, counts in visit.groups:
                samples = {stack: n for stack, n in zip(stacks, counts, strict=True) if n}
                if samples:
                    labels = {"application": application, "datacenter": visit.stratum}
                    write.profile(
                        landed,
                        samples,
                        period=10_000_000 + len(samples),
                        labels=labels | ({"colour": colour} if colour else {}),
                    )


def write_day(write: FactWriter, day: int) -> None:
    from storage import partitions

    partitions.ensure(write._connection, [DAY + timedelta(days=day)])


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    phases=[Phase.explicit, Phase.generate],
)
@given(
    visits=st.lists(a_visit, min_size=1, max_size=25),
    start=st.integers(0, 2 * 1440),
    length=st.integers(30, 3 * 1440),
    data=st.data(),
)
def test_any_store_is_answered_alike(store: Store, visits: list[Drawn], start: int, length: int, data):
    campaign = f"c{uuid4().hex}"
    land(store.engine, visits, campaign)
    store.export()
    by = data.draw(
        st.lists(
            st.sampled_from(["function", "application", "machine", "datacenter", "colour", "version"]),
            min_size=1, max_size=3, unique=True,
        )
    )  # fmt: skip
    select = data.draw(
        st.sampled_from(
            [
                "{}",
                '{application="nginx"}',
                '{application!="nginx"}',
                '{application=~"s.*|a.*"}',
                '{datacenter="east"}',
            ]
        )
    )
    more = data.draw(st.sampled_from([{}, {"focus": "work"}, {"ignore": "sort|ядро"}]))
    end = min(start + length, 3 * 1440)
    selection = minutes(start, end, campaign=campaign, select=select, **more)
    if "colour" in by and not any(
        colour for visit in visits if visit.seconds for _, colour, counts in visit.groups if any(counts)
    ):
        by = ["function"]
    store.check(TableQuestion(selection, tuple(by), Page(sort=Sort.TOTAL_DESC)))
    store.check(FlameQuestion(selection, 100))
    store.check(LabelsQuestion(selection))
