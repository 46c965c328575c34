"""GIVEN visits of machines with many logical CPUs WHEN models need no more than their sums THEN the database adds them up, exactly."""

from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, insert, select, text

from storage.errors import BudgetExceeded
from storage.query.answers.frequency import FrequencyAnswer
from storage.query.models import frequency_sums
from storage.query.models.cross_check import CrossCheckQuestion
from storage.query.models.frequency import FrequencyQuestion
from storage.query.observed.cpus import read_cpus
from storage.query.observed.machine_cpus import read_machine_cpus
from storage.query.observed.machines import read_machine_visits
from storage.query.query_engine import QueryEngine
from storage.query.selections.selection import Selection
from storage.schema import capture_cpu, capture_segment
from storage.snapshots.query_budget import Budget, Limits
from tests.sampled_campaign import Campaign

pytestmark = pytest.mark.integration

START = datetime(2026, 11, 17, 20, tzinfo=UTC)
WHOLE = Selection(START, START + timedelta(hours=30))
NAMES = ("user", "system", "idle", "iowait", "irq", "steal")
DAYS, VISITS, CPUS = 2, 24, 1000
PERIOD_NS = 10_000_000
BUDGET = 1 << 20
"""Bytes for a question. The logical CPUs one by one are three megabytes."""
_ALL_CPUS = text(
    "INSERT INTO capture_cpu (visit_id, cpu, day, package, mhz, user_ms, system_ms, irq_ms, idle_ms, iowait_ms, steal_ms)"
    " SELECT :id, cpu, :day, 0, 2000, 2000, 0, 0, 3000, 0, 0 FROM generate_series(0, :last) AS cpu"
)


def write_cpus(connection: Connection, visit_id: UUID, day: object, draw: Random, count: int) -> None:
    packages = draw.randrange(4)  # 0: not known
    rows = [
        {
            "visit_id": visit_id,
            "cpu": cpu,
            "day": day,
            "package": None if packages == 0 else draw.randrange(packages),
            "mhz": draw.choice(
                [None, 0.0, float("nan"), float("inf"), *(draw.uniform(900, 3900) for _ in range(12))]
            ),
            **{f"{name}_ms": draw.randrange(5000) if draw.random() < 0.7 else 0 for name in NAMES},
        }
        for cpu in range(count)
    ]
    connection.execute(insert(capture_cpu), rows)


def test_sums_are_those_of_the_cpus_one_by_one(engine: Engine) -> None:
    draw = Random(4)
    with engine.begin() as connection:
        campaign = Campaign(connection, {"east": 50}, random=Random(1))
        for number in range(40):
            visit = campaign.answer(START + timedelta(minutes=7 * number), "east")
            if number % 9:
                write_cpus(connection, visit.id, visit.drawn_at.date(), draw, 1 + number % 7)
        visits = read_machine_visits(connection, WHOLE)
        visits = visits.of(np.arange(len(visits)) % 5 > 0)  # of the others nothing is asked
        found = read_machine_cpus(connection, WHOLE, visits)
        cpus = read_cpus(connection, WHOLE, visits)
    assert len(visits) == 32
    several = 0
    for place in range(len(visits)):
        mine = cpus.of(cpus.visit == place)
        assert found.cpus[place] == len(mine)
        known = len(mine) > 0 and bool((mine.package >= 0).all())
        assert found.placed[place] == known
        if known:
            assert found.one_socket[place] == (len(np.unique(mine.package)) == 1)
            several += not found.one_socket[place]
        assert found.busy_s[place] == pytest.approx(mine.busy_s.sum())
        assert found.accounted_s[place] == pytest.approx(mine.window_s.sum())
        if len(mine):
            assert found.window_s[place] == pytest.approx(mine.window_s.mean())
        clocked = mine.of(np.isfinite(mine.mhz) & (mine.busy_s > 0))
        if len(clocked):
            hertz = float(np.average(clocked.mhz, weights=clocked.busy_s)) * 1e6
            assert found.hertz[place] == pytest.approx(hertz)
        else:
            assert np.isnan(found.hertz[place])
    assert several > 2
    assert (found.cpus == 0).any()


@pytest.mark.slow
def test_a_frequency_question_needs_no_room_for_every_cpu(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine.begin() as connection:
        _write_fleet(connection)
    small = QueryEngine(engine, limits=Limits(bytes=BUDGET))
    question = FrequencyQuestion(WHOLE, latency_ns=90.0)
    found = small.ask(question)
    assert found.because is None
    assert found.inputs.used == DAYS * VISITS
    assert [row.application for row in found.rows] == ["web", "batch", "rare"]
    # Of what ran: 20, 5 and 40 % of the time at 2 GHz waits.
    for row, share in zip(found.rows, (0.2, 0.05, 0.4), strict=True):
        assert row.off_chip is not None
        assert row.off_chip.value == pytest.approx(share, abs=0.05), row.application
    assert small.ask(CrossCheckQuestion(WHOLE)).rows
    _check_days_apart(small, question, found, monkeypatch)
    with engine.begin() as connection:
        visits = read_machine_visits(connection, WHOLE)
        with Budget(Limits(bytes=BUDGET)).running(), pytest.raises(BudgetExceeded):
            read_cpus(connection, WHOLE, visits)
    small.close()


def _check_days_apart(
    queries: QueryEngine, question: FrequencyQuestion, whole: FrequencyAnswer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read day by day, the answer is the same."""
    ranges: list[object] = []
    usual = frequency_sums.day_ranges

    def one_by_one(hours: np.ndarray) -> object:
        for days in usual(hours, 1):
            ranges.append(days)
            yield days

    monkeypatch.setattr(frequency_sums, "day_ranges", one_by_one)
    found = queries.ask(question)
    assert len(ranges) == DAYS
    assert found.rows_total == whole.rows_total
    for ours, theirs in zip(found.rows, whole.rows, strict=True):
        assert (ours.application, ours.visits, ours.low_confidence) == (
            theirs.application,
            theirs.visits,
            theirs.low_confidence,
        )
        assert ours.off_chip is not None
        assert theirs.off_chip is not None
        assert (ours.off_chip.value, ours.off_chip.lo, ours.off_chip.hi) == pytest.approx(
            (theirs.off_chip.value, theirs.off_chip.lo, theirs.off_chip.hi), rel=1e-9
        )


def _write_fleet(connection: Connection) -> None:
    """Visits of two days, each of a machine with many CPUs at 2 GHz; applications that wait for parts of their time."""
    draw = Random(8)
    campaign = Campaign(connection, {"east": 500}, random=Random(1))
    write = campaign.write
    stack = write.stack([write.function("main", file="m.c", binary="prog")])
    for day in range(DAYS):
        for number in range(VISITS):
            visit = campaign.answer(START + timedelta(days=day, minutes=7 * number), "east", stacks=True)
            _watch_misses(connection, visit.id, campaign._sample_type("llc-misses", "count"))
            connection.execute(_ALL_CPUS, {"id": visit.id, "day": visit.drawn_at.date(), "last": CPUS - 1})
            for name, samples, share in (("web", 400, 0.2), ("batch", 100, 0.05), ("rare", 20, 0.4)):
                count = draw.randrange(samples // 2, samples * 2)
                labels = {"application": name}
                write.profile(visit, {stack: count}, labels=labels, period=PERIOD_NS)
                missed = count * PERIOD_NS / 1e9 * share / 90e-9 * draw.uniform(0.8, 1.2)
                write.profile(
                    visit,
                    {stack: round(missed / 1000)},
                    labels=labels,
                    period=1000,
                    event="llc-misses",
                    unit="count",
                )


def _watch_misses(connection: Connection, visit_id: UUID, sample_type_id: int) -> None:
    c = capture_segment.c
    one = connection.execute(select(capture_segment).where(c.visit_id == visit_id)).one()._asdict()
    one |= {"segment": 1, "event": "llc-misses", "source": "llc-misses", "sample_type_id": sample_type_id}
    connection.execute(insert(capture_segment).values(**one))
