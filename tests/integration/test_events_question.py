"""GIVEN an application's runs in which two events decide its IPC WHEN its events are asked for THEN they are found, and what moves them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from random import Random

import numpy as np
import pytest
from sqlalchemy import Engine, insert

from storage.errors import BadSelection
from storage.query.answers.answer import adapter, as_document
from storage.query.answers.events import EventsAnswer
from storage.query.models.events import EventsQuestion
from storage.query.query_engine import QueryEngine
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from storage.schema import capture_counter, capture_cpu, capture_system
from tests.integration.reported import check_events_report
from tests.sampled_campaign import Campaign

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

START = datetime(2026, 11, 17, tzinfo=UTC)
HOURS = 10
MACHINES, VISITS = 24, 10
PLANTED = ("dtlb-misses", "l2-misses")
NOISE = tuple(f"noise-{number:02}" for number in range(14))
WHOLE = Selection(START, START + timedelta(hours=HOURS))
HERTZ = 2e9


@pytest.fixture
def queries(engine: Engine) -> Iterator[QueryEngine]:
    rng = np.random.default_rng(1)
    with engine.begin() as connection:
        campaign = Campaign(connection, {"east": MACHINES}, random=Random(1))
        write = campaign.write
        stack = write.stack([write.function("main", binary="prog")])
        counters, cpus, systems = [], [], []
        for machine in range(MACHINES):
            governor = ("performance", "powersave")[machine % 2]
            seen = [*PLANTED, *rng.choice(NOISE, 9, replace=False).tolist()]
            for number in range(VISITS):
                at = START + timedelta(hours=HOURS) * (machine * VISITS + number) / (MACHINES * VISITS)
                visit = campaign.answer(at, "east", utilisation=0.5, machine=f"east-{machine}")
                write.profile(visit, {stack: 90}, labels={"application": "alone"})
                write.profile(visit, {stack: 10}, labels={"application": "daemon"})
                rates = dict(zip(seen, rng.gamma(4, 1.0, len(seen)).tolist(), strict=True))
                rates["dtlb-misses"] *= 3.0 if governor == "powersave" else 1.0
                ipc = 2.5 / (1 + 0.1 * rates["dtlb-misses"] + 0.12 * rates["l2-misses"]) * rng.normal(1, 0.02)
                cycles = float(rng.uniform(1, 3)) * HERTZ
                values = {"cycles": cycles, "instructions": cycles * ipc}
                values |= {name: rate * cycles * ipc / 1e3 for name, rate in rates.items()}
                day = at.date()
                counters += [
                    {
                        "visit_id": visit.id, "reading": 0, "name": name, "day": day, "cpus": 2, "application": 0,
                        "status": "ok", "value": round(value), "scaled": value, "unit": "count", "source": "",
                        "time_enabled_ns": 1, "time_running_ns": 1,
                    }
                    for name, value in values.items()
                ]  # fmt: skip
                # Of some machines half the CPUs say no frequency: that is none that was set.
                clocks = (HERTZ / 1e6, None) if machine % 3 == 0 else (HERTZ / 1e6,)
                cpus += [
                    {
                        "visit_id": visit.id, "cpu": cpu, "day": day, "core_cpu": cpu, "package": 0,
                        "user_ms": round(cycles / HERTZ * 1e3 / len(clocks)), "system_ms": 0, "idle_ms": 1000,
                        "iowait_ms": 0, "irq_ms": 0, "steal_ms": 0, "mhz": mhz,
                    }
                    for cpu, mhz in enumerate(clocks)
                ]  # fmt: skip
                systems.append({"visit_id": visit.id, "day": day, "governor": governor})
        connection.execute(insert(capture_counter), counters)
        connection.execute(insert(capture_cpu), cpus)
        connection.execute(insert(capture_system), systems)
    asked = QueryEngine(engine)
    yield asked
    asked.close()


@pytest.mark.slow
def test_planted_events_and_what_moves_them_are_found(
    queries: QueryEngine, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = queries.ask(EventsQuestion(WHOLE, "alone"))
    assert found.because is None
    assert {row.event for row in found.rows[:2]} == set(PLANTED)
    assert found.runs == MACHINES
    assert found.intervals == MACHINES * VISITS == found.inputs.used
    assert found.error is not None
    assert found.baseline_error is not None
    assert found.error < found.baseline_error / 2
    assert found.coupling_because is None
    assert found.tune == "governor"
    tightest = found.pairs[0]
    assert (tightest.event, tightest.parameter) == ("dtlb-misses", "governor")
    # Nothing else was set up differently: a machine's other parameters are all alike.
    assert {pair.parameter for pair in found.pairs} == {"governor"}
    _check_document(found)
    _check_what_cannot_be_said(queries)
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    check_events_report(WHOLE, "alone", PLANTED, "governor")


def _check_document(found: EventsAnswer) -> None:
    """The JSON has the members and types of the description, and is the same answer."""
    assert adapter(EventsAnswer).validate_python(as_document(found)) == found


def _check_what_cannot_be_said(queries: QueryEngine) -> None:
    short = Selection(START, START + timedelta(hours=1))
    nothing = Selection(START + timedelta(days=-1), START)
    one_governor = Selection(
        WHOLE.start, WHOLE.end, matchers=parse_matchers('{machine=~"east-(0|2|4|6|8|10|12|14|16|18|20|22)"}')
    )
    for question, reason, said in (
        (EventsQuestion(WHOLE, "daemon"), "too_little", "too small a share of the machine"),
        (EventsQuestion(WHOLE, "alone", least_share=0.95), "too_little", "too small a share of the machine"),
        (EventsQuestion(short, "alone"), "too_little", "runs"),
        (EventsQuestion(nothing, "alone"), "too_little", "No visit"),
    ):
        found = queries.ask(question)
        assert found.error is None
        assert (found.rows, found.steps, found.intervals, found.runs) == ((), (), 0, 0)
        assert (found.pairs, found.tune) == ((), None)
        assert found.because is not None
        assert found.because.reason == reason
        assert said in found.because.detail
        _check_document(found)
    alike = queries.ask(EventsQuestion(one_governor, "alone"))
    assert alike.rows
    assert alike.error is not None
    assert alike.coupling_because is not None
    assert alike.coupling_because.reason == "constant"
    for wrong in (EventsQuestion(WHOLE, ""), EventsQuestion(WHOLE, "alone", least_share=0.1)):
        with pytest.raises(BadSelection):
            queries.ask(wrong)
