"""Inventory, campaigns, visits and coverage on a real PostgreSQL."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, Engine, func, select

from fleetpb import capture_pb2
from storage import campaigns, inventory, visit_history, visits
from storage.campaigns import Campaign, Definition, EventPlan, State
from storage.errors import MachineExists, UnknownCampaign, UnknownMachine, UnknownVisit
from storage.inventory import NewMachine
from storage.schema import Outcome, coverage, visit
from storage.visits import DrawnVisit

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)
FLEET = Definition("fleet", period_s=60, visits_per_round=1.5, events=(EventPlan("cpu", 5000, rate_hz=99),))


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    with engine.connect() as opened, opened.begin():
        yield opened


def make_campaign(connection: Connection) -> Campaign:
    return campaigns.create_or_update(connection, FLEET)


def make_visit(connection: Connection, **changes) -> DrawnVisit:
    """A visit of the first campaign, machine and stratum there are, not recorded yet."""
    machine_id = inventory.add(connection, NewMachine("m1", "unix:/run/gateway.sock"), replace=True)
    stratum_id = inventory.stratum_ids(connection, [("dc", "Zen")])["dc", "Zen"]
    drawn = DrawnVisit(
        visit_id=uuid4(),
        campaign_id=make_campaign(connection).campaign_id,
        round=1,
        machine_id=machine_id,
        stratum_id=stratum_id,
        population=10,
        drawn=1,
        probability=0.1,
        drawn_at=NOON,
    )
    return replace(drawn, **changes)


def cover(connection: Connection) -> dict[int, tuple[int, int, int, float, int]]:
    """Class → drawn, answered, failed, seconds, population."""
    c = coverage.c
    rows = connection.execute(
        select(c.utilisation_class, c.drawn, c.answered, c.failed, c.seconds, c.population)
    )
    return {row[0]: tuple(row[1:]) for row in rows}


def answer(
    connection: Connection, visit_id: UUID, seconds: float = 5.0, utilisation: float | None = 0.6
) -> bool:
    return visits.finish(
        connection,
        visit_id,
        outcome=Outcome.ANSWERED,
        detail="",
        ended_at=NOON + timedelta(seconds=6),
        seconds=seconds,
        utilisation=utilisation,
        clock_skew_s=0.25,
    )


def fail(connection: Connection, visit_id: UUID, outcome: Outcome = Outcome.UNREACHABLE) -> bool:
    return visits.finish(
        connection,
        visit_id,
        outcome=outcome,
        detail="no route\0",
        ended_at=NOON,
        seconds=None,
        utilisation=None,
    )


class TestInventory:
    def test_a_machine_is_found_as_it_was_added(self, connection):
        inventory.add(connection, NewMachine("m2", "h:1", "dc", "c", {"pool": "web"}))
        machine_id = inventory.add(connection, NewMachine("m1", "unix:/s"))
        assert [m.name for m in inventory.machines(connection)] == ["m1", "m2"]
        found = inventory.find(connection, "m1")
        assert (found.machine_id, found.address, found.platform, found.cores) == (
            machine_id,
            "unix:/s",
            "",
            None,
        )
        assert inventory.find(connection, "m2").labels == {"pool": "web"}

    def test_a_name_is_given_once(self, connection):
        first = inventory.add(connection, NewMachine("m1", "h:1"))
        with pytest.raises(MachineExists):
            inventory.add(connection, NewMachine("m1", "h:2"))
        assert inventory.add(connection, NewMachine("m1", "h:2"), replace=True) == first
        assert inventory.find(connection, "m1").address == "h:2"

    def test_a_gateway_describes_its_machine(self, connection):
        machine_id = inventory.add(connection, NewMachine("m1", "h:1", labels={"pool": "web"}))
        message = capture_pb2.Machine(
            hostname="m1\0",
            platform="AMD\0 EPYC" + "x" * 500,
            kernel_release="6.18",
            logical_cpus=64,
            packages=2**32 - 1,
            threads_per_core=2**32 - 1,
            memory_bytes=2**64 - 1,
            nominal_mhz=float("nan"),
            labels={"pool": "theirs", "rack": "r\0"},
        )
        inventory.describe(connection, machine_id, message)
        found = inventory.find(connection, "m1")
        assert found.platform.startswith("AMD EPYCx")
        assert (found.kernel, found.logical_cpus, found.cores) == ("6.18", 64, None)
        assert found.packages == 2**31 - 1
        assert found.labels == {"pool": "web", "rack": "r"}
        assert found.described_at is not None
        with pytest.raises(UnknownMachine):
            inventory.describe(connection, machine_id + 1, message)

    def test_a_disabled_machine_is_not_drawn(self, connection):
        inventory.add(connection, NewMachine("m1", "h:1"))
        inventory.set_enabled(connection, "m1", False)
        assert inventory.machines(connection) == []
        assert [m.enabled for m in inventory.machines(connection, enabled_only=False)] == [False]
        inventory.add(connection, NewMachine("m1", "h:2"), replace=True)
        assert not inventory.find(connection, "m1").enabled

    def test_a_removed_machine_keeps_its_visits_and_its_id(self, connection):
        drawn = make_visit(connection)
        visits.record_draw(connection, [drawn])
        inventory.add(connection, NewMachine("never-visited", "h:1"))
        for name in ("m1", "never-visited"):
            inventory.remove(connection, name)
            with pytest.raises(UnknownMachine):
                inventory.find(connection, name)
        assert inventory.machines(connection, enabled_only=False) == []
        assert connection.scalar(select(visit.c.machine_id)) == drawn.machine_id
        assert inventory.add(connection, NewMachine("m1", "h:9")) == drawn.machine_id
        assert inventory.find(connection, "m1").enabled

    def test_strata_are_made_once(self, connection):
        first = inventory.stratum_ids(connection, [("a", "x"), ("a", "y"), ("a", "x")])
        again = inventory.stratum_ids(connection, [("a", "y"), ("b", "x")])
        assert again["a", "y"] == first["a", "y"]
        assert len({*first.values(), *again.values()}) == 3
        assert inventory.stratum_ids(connection, []) == {}


class TestCampaigns:
    def test_a_definition_comes_back_as_it_went_in(self, connection):
        stored = make_campaign(connection)
        assert (stored.definition, stored.state, stored.last_round) == (FLEET, State.RUNNING, -1)
        assert campaigns.get(connection, "fleet") == stored
        assert campaigns.list_(connection) == [stored]

    def test_updating_keeps_identity_state_and_rounds(self, connection):
        stored = make_campaign(connection)
        campaigns.begin_round(connection, stored.campaign_id, 7)
        campaigns.set_state(connection, "fleet", State.PAUSED, "holiday")
        updated = campaigns.create_or_update(
            connection, replace(FLEET, period_s=30, select_machines={"pool": "web"})
        )
        assert (updated.campaign_id, updated.state, updated.state_why, updated.last_round) == (
            stored.campaign_id,
            State.PAUSED,
            "holiday",
            7,
        )
        assert updated.definition.select_machines == {"pool": "web"}

    def test_state_changes_once(self, connection):
        make_campaign(connection)
        assert campaigns.set_state(connection, "fleet", State.STOPPED, "9 of 10 visits failed")
        assert not campaigns.set_state(connection, "fleet", State.STOPPED, "again")
        assert campaigns.get(connection, "fleet").state_why == "9 of 10 visits failed"
        with pytest.raises(UnknownCampaign):
            campaigns.set_state(connection, "nowhere", State.PAUSED, "")

    def test_a_round_is_drawn_once_and_never_an_earlier_one(self, connection):
        campaign_id = make_campaign(connection).campaign_id
        assert campaigns.begin_round(connection, campaign_id, 5)
        assert not campaigns.begin_round(connection, campaign_id, 5)
        assert not campaigns.begin_round(connection, campaign_id, 4)
        campaigns.set_state(connection, "fleet", State.PAUSED, "")
        assert not campaigns.begin_round(connection, campaign_id, 6)

    def test_two_collectors_never_draw_the_same_round(self, engine):
        with engine.begin() as connection:
            campaign_id = make_campaign(connection).campaign_id
        claims = together(engine, 4, lambda connection: campaigns.begin_round(connection, campaign_id, 1))
        assert sorted(claims) == [False, False, False, True]


class TestCoverage:
    def test_a_visit_under_way_counts_as_drawn(self, connection):
        drawn = make_visit(connection)
        visits.record_draw(connection, [drawn, replace(drawn, visit_id=uuid4(), population=12)])
        assert cover(connection) == {-1: (2, 0, 0, 0.0, 12)}
        row = connection.execute(select(coverage.c.day, coverage.c.hour)).one()
        assert (row.day, row.hour) == (drawn.day, drawn.hour)

    def test_an_answer_moves_it_to_its_class(self, connection):
        drawn = make_visit(connection)
        visits.record_draw(connection, [drawn])
        visits.begin(connection, drawn.visit_id, NOON + timedelta(seconds=1))
        assert answer(connection, drawn.visit_id, seconds=4.5, utilisation=0.6)
        assert cover(connection) == {-1: (0, 0, 0, 0.0, 10), 2: (1, 1, 0, 4.5, 10)}
        row = connection.execute(select(visit)).one()
        assert (row.outcome, row.seconds, row.utilisation, row.clock_skew_s) == ("answered", 4.5, 0.6, 0.25)
        assert row.started_at == NOON + timedelta(seconds=1)

    def test_a_failure_of_which_nothing_is_known_stays_in_class_unknown(self, connection):
        drawn = make_visit(connection)
        visits.record_draw(connection, [drawn])
        assert fail(connection, drawn.visit_id)
        assert cover(connection) == {-1: (1, 0, 1, 0.0, 10)}

    def test_a_refusal_tells_how_busy_the_machine_is(self, connection):
        drawn = make_visit(connection)
        visits.record_draw(connection, [drawn])
        visits.finish(
            connection,
            drawn.visit_id,
            outcome=Outcome.REFUSED,
            detail="busy",
            ended_at=NOON,
            seconds=None,
            utilisation=0.99,
        )
        assert cover(connection) == {-1: (0, 0, 0, 0.0, 10), 3: (1, 0, 1, 0.0, 10)}

    def test_ending_twice_changes_nothing(self, connection):
        drawn = make_visit(connection)
        visits.record_draw(connection, [drawn])
        assert answer(connection, drawn.visit_id)
        before = cover(connection)
        assert not answer(connection, drawn.visit_id, seconds=99)
        assert not fail(connection, drawn.visit_id)
        assert visits.abandon(connection, NOON + timedelta(days=1)) == 0
        visits.begin(connection, drawn.visit_id, NOON)
        assert cover(connection) == before
        assert connection.execute(select(visit.c.seconds, visit.c.started_at)).one() == (5.0, None)

    def test_of_many_that_end_it_at_once_one_does(self, engine):
        with engine.begin() as connection:
            drawn = make_visit(connection)
            visits.record_draw(connection, [drawn])
        ended = together(engine, 6, lambda connection: answer(connection, drawn.visit_id))
        assert sorted(ended) == [False] * 5 + [True]
        with engine.connect() as connection:
            assert cover(connection) == {-1: (0, 0, 0, 0.0, 10), 2: (1, 1, 0, 5.0, 10)}

    def test_an_unknown_visit_is_an_error(self, connection):
        with pytest.raises(UnknownVisit):
            answer(connection, uuid4())

    def test_seconds_go_with_answers_only(self, connection):
        for outcome, seconds in ((Outcome.ANSWERED, None), (Outcome.TIMEOUT, 1.0), (Outcome.DRAWN, None)):
            with pytest.raises(ValueError):
                visits.finish(connection, uuid4(), outcome=outcome, detail="", ended_at=NOON, seconds=seconds)

    def test_visits_of_a_dead_collector_are_lost_once(self, connection):
        old = [make_visit(connection, drawn_at=NOON - timedelta(minutes=n)) for n in range(3, 80, 10)]
        young = make_visit(connection, drawn_at=NOON)
        visits.record_draw(connection, [*old, young])
        answer(connection, old[0].visit_id)
        assert visits.abandon(connection, NOON - timedelta(minutes=2)) == len(old) - 1
        assert visits.abandon(connection, NOON - timedelta(minutes=2)) == 0
        outcomes = dict(
            connection.execute(select(visit.c.outcome, func.count()).group_by(visit.c.outcome)).all()
        )
        assert outcomes == {"answered": 1, "lost": len(old) - 1, "drawn": 1}
        totals = connection.execute(select(func.sum(coverage.c.drawn), func.sum(coverage.c.failed))).one()
        assert totals == (len(old) + 1, len(old) - 1)

    def test_abandoning_waits_for_nobody(self, engine):
        with engine.begin() as connection:
            drawn = make_visit(connection)
            visits.record_draw(connection, [drawn])
        with engine.begin() as finishing:
            answer(finishing, drawn.visit_id)
            with engine.begin() as sweeping:
                assert visits.abandon(sweeping, NOON + timedelta(days=1)) == 0

    @settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(
            st.tuples(
                st.integers(0, 200),  # minutes
                st.sampled_from(list(Outcome)),
                st.none() | st.floats(0, 1),
            ),
            max_size=12,
        )
    )
    def test_coverage_always_equals_the_visits(self, engine, plan):
        """The invariant weights rest on: coverage is the visits, summed."""
        with engine.connect() as connection:
            for minutes, outcome, utilisation in plan:
                drawn = make_visit(connection, drawn_at=NOON + timedelta(minutes=minutes))
                visits.record_draw(connection, [drawn])
                if outcome == Outcome.DRAWN:
                    continue
                seconds = 5.0 if outcome == Outcome.ANSWERED else None
                visits.finish(
                    connection,
                    drawn.visit_id,
                    outcome=outcome,
                    detail="",
                    ended_at=NOON,
                    seconds=seconds,
                    utilisation=utilisation,
                )
            v, c = visit.c, coverage.c
            ended = v.outcome != "drawn"
            from_visits = select(
                v.hour,
                func.count(),
                func.count().filter(v.outcome == "answered"),
                func.count().filter(ended & (v.outcome != "answered")),
                func.coalesce(func.sum(v.seconds), 0),
            ).group_by(v.hour)
            from_coverage = select(
                c.hour, func.sum(c.drawn), func.sum(c.answered), func.sum(c.failed), func.sum(c.seconds)
            ).group_by(c.hour)
            assert set(connection.execute(from_visits)) == set(connection.execute(from_coverage))
            connection.rollback()


class TestBrake:
    def outcomes(self, connection: Connection, campaign_id: int, window: int) -> list[Outcome]:
        return [ending.outcome for ending in visit_history.endings(connection, campaign_id, window)]

    def test_sees_the_latest_ended_visits(self, connection):
        campaign_id = make_campaign(connection).campaign_id
        soon = datetime.now(UTC) + timedelta(minutes=1)
        drawn = [make_visit(connection, drawn_at=soon + timedelta(seconds=n)) for n in range(4)]
        visits.record_draw(connection, drawn)
        for one, end in zip(drawn[:3], (fail, answer, fail), strict=True):
            end(connection, one.visit_id)
        assert self.outcomes(connection, campaign_id, 2) == [Outcome.UNREACHABLE, Outcome.ANSWERED]
        fail(connection, drawn[3].visit_id, Outcome.TIMEOUT)
        assert self.outcomes(connection, campaign_id, 1) == [Outcome.TIMEOUT]
        assert len(self.outcomes(connection, campaign_id, 10)) == 4

    def test_a_restart_forgets_and_lost_visits_say_nothing(self, connection):
        campaign_id = make_campaign(connection).campaign_id
        early = make_visit(connection, drawn_at=datetime.now(UTC) - timedelta(hours=1))
        late = make_visit(connection, drawn_at=datetime.now(UTC) + timedelta(hours=1))
        visits.record_draw(connection, [early, late])
        fail(connection, early.visit_id)
        visits.abandon(connection, NOON + timedelta(days=3650))
        assert self.outcomes(connection, campaign_id, 10) == []


def together(engine: Engine, number: int, act) -> list:
    """What `act` returned in each of `number` transactions that begin at the same moment."""
    results = []
    barrier = threading.Barrier(number)

    def run() -> None:
        with engine.begin() as connection:
            connection.execute(select(1))
            barrier.wait(30)
            results.append(act(connection))

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(results) == number
    return results
