"""GIVEN visits that ended in all ways WHEN somebody asks why THEN reasons are counted alike, with a machine for each."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, delete, insert
from typer.testing import CliRunner

from services.cli import app
from storage import campaigns, inventory
from storage.campaigns import Definition, EventPlan
from storage.query.answers.answer import adapter
from storage.query.answers.status import StatusAnswer, VisitFailure
from storage.query.selections.times import format_time
from storage.query.shapes.failures import MOST, read_failures
from storage.query.shapes.operations import read_operations
from storage.schema import visit

pytestmark = pytest.mark.integration

NOW = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
TEXTS = ("No connection within 10 s.", "No connection within 11 s.", "REFUSED: busy", "")
OUTCOMES = ("answered", "drawn", "unreachable", "refused", "timeout", "lost")

visits = st.lists(
    st.tuples(
        st.sampled_from(OUTCOMES),
        st.sampled_from(TEXTS),
        st.integers(0, 2),  # machine
        st.integers(0, 48),  # hours ago, in halves
    ),
    max_size=25,
    unique_by=lambda each: each[3],
)


class Fleet:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.machines = [
            inventory.add(connection, inventory.NewMachine(f"m{n}", f"unix:/run/{n}.sock")) for n in range(3)
        ]
        self.stratum = inventory.stratum_ids(connection, [("dc", "Zen")])["dc", "Zen"]
        events = (EventPlan("cpu", 5000, rate_hz=99),)
        self.campaign = campaigns.create_or_update(
            connection, Definition("fleet", 60, 1.0, events)
        ).campaign_id

    def write(self, rows: list[tuple[str, str, int, int]]) -> None:
        self.connection.execute(delete(visit))
        for outcome, detail, machine, ago in rows:
            at = NOW - timedelta(minutes=30 * ago + 1)
            self.connection.execute(
                insert(visit).values(
                    visit_id=uuid4(), day=at.date(), hour=0, campaign_id=self.campaign, round=1,
                    machine_id=self.machines[machine], stratum_id=self.stratum, population=3, drawn=1,
                    probability=0.3, drawn_at=at, outcome=outcome, detail=detail,
                )
            )  # fmt: skip


def expected(rows: list[tuple[str, str, int, int]]) -> list[VisitFailure]:
    """By hand: same outcome, same text but for its numbers."""
    groups: dict[tuple[str, str], list[tuple[str, str, int, int]]] = {}
    for row in rows:
        if row[0] not in {"answered", "drawn"} and 30 * row[3] + 1 <= 24 * 60:
            groups.setdefault((row[0], row[1].replace("10", "0").replace("11", "0")), []).append(row)
    found = []
    for group in groups.values():
        newest = min(group, key=lambda row: row[3])
        found.append(
            VisitFailure(
                outcome=newest[0],
                detail=newest[1],
                visits=len(group),
                visits_last_hour=sum(30 * row[3] + 1 <= 60 for row in group),
                machines=len({row[2] for row in group}),
                example=f"m{newest[2]}",
                latest=format_time(NOW - timedelta(minutes=30 * newest[3] + 1)),
            )
        )
    return sorted(
        found, key=lambda each: (-each.visits, each.outcome, -datetime.fromisoformat(each.latest).timestamp())
    )


def test_reasons_are_those_counted_by_hand(engine: Engine):
    with engine.connect() as connection, connection.begin():
        fleet = Fleet(connection)

        @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
        @given(visits)
        def check(rows: list[tuple[str, str, int, int]]) -> None:
            fleet.write(rows)
            assert list(read_failures(connection, NOW)) == expected(rows)

        check()


def test_no_more_reasons_are_told_than_a_person_reads(engine: Engine):
    with engine.connect() as connection, connection.begin():
        fleet = Fleet(connection)
        fleet.write([("failed", f"Reason {chr(65 + n)}.", n % 3, n % 40) for n in range(MOST + 10)])
        assert len(read_failures(connection, NOW)) == MOST


def test_operations_are_of_this_very_store(engine: Engine):
    with engine.connect() as connection, connection.begin():
        fleet = Fleet(connection)
        found = read_operations(connection)
        assert found.partition_days_ahead == -1
        assert found.oldest_partition is None
        assert found.machines_enabled == 3
        assert [(each.name, each.state, each.last_round_began) for each in found.campaigns] == [
            ("fleet", "running", None)
        ]
        assert Counter(found.visits_last_hour) == Counter()
        assert found.database_bytes > 1 << 20
        assert fleet.campaign


def test_the_command_says_it_for_people_and_for_programs(
    engine: Engine, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    now = datetime.now(UTC)
    with engine.begin() as connection:
        fleet = Fleet(connection)
        connection.execute(
            insert(visit).values(
                visit_id=uuid4(), day=now.date(), hour=0, campaign_id=fleet.campaign, round=1,
                machine_id=fleet.machines[2], stratum_id=fleet.stratum, population=3, drawn=1, probability=0.3,
                drawn_at=now - timedelta(minutes=5), outcome="timeout", detail="It did not finish within 15 s.",
            )
        )  # fmt: skip
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    said = CliRunner().invoke(app, ["status"])
    assert said.exit_code == 0, said.output
    assert "3 of 3 machines" in said.output
    assert "It did not finish within 15 s." in said.output
    assert "m2" in said.output
    answer = adapter(StatusAnswer).validate_python(
        json.loads(CliRunner().invoke(app, ["status", "--json"]).output)
    )
    (failure,) = answer.visits.failures
    assert (failure.outcome, failure.visits, failure.visits_last_hour, failure.example) == (
        "timeout",
        1,
        1,
        "m2",
    )
