"""GIVEN a simulated fleet whose machines run at three frequencies WHEN A/f + B is asked for THEN it is that of the law."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, Text, cast, func, select, update
from typer.testing import CliRunner

from services.cli import app
from simulation.catalogue import APPLICATIONS, SERVICES
from simulation.fleet import Fleet
from simulation.fleet_plan import FleetPlan
from simulation.platforms import PLATFORMS, Platform
from simulation.rates import cycles_per_instruction, waiting_s
from simulation.seeded_random import Floats
from simulation.window import Window
from storage.archive import Archive
from storage.campaigns import Counted, EventPlan
from storage.query.answers.answer import adapter
from storage.query.answers.frequency import FrequencyAnswer
from storage.query.answers.frequency_fit import FrequencyFitAnswer, FrequencyFitRow
from storage.query.models.frequency import FrequencyQuestion
from storage.query.models.frequency_fit import FitQuestion
from storage.query.models.frequency_options import Wanted, memory_change
from storage.query.observed.machines import read_machine_visits
from storage.query.query_engine import QueryEngine
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.schema import capture_counter, dim_value
from tests.figure_bounds import holds
from tests.simulated_past import ingest_past

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.slow]

MACHINES, SEED, SERVICES_RUN = 60, 5, 2
HOURS, VISITS = 12, 200
DAY = datetime(2026, 11, 17, 9, tzinfo=UTC)
WHOLE = Selection(DAY, DAY + timedelta(hours=HOURS))
EVENTS = (
    EventPlan("cpu", 1000, rate_hz=99.0, stacks=False),
    EventPlan("llc-misses", 500, stacks=False, turn=1),
)
SPEEDS = (0.6, 0.8, 1.0)
"""Of the nominal frequency."""
TARGETS = SERVICES[:SERVICES_RUN]
CROWDED, CALM = PLATFORMS[:2]
"""Platforms: on one neighbours hinder each other, as in every simulated fleet; on the other they do not."""
_NO_ANSWER = 3


@dataclass(frozen=True)
class Ingested:
    queries: QueryEngine
    fleet: Fleet
    engine: Engine


def _calm(slower: Callable[[Window], Floats]) -> Callable[[Window], Floats]:
    """How many times as long instructions take, where nobody hinders anybody on the calm platform."""

    def found(window: Window) -> Floats:
        return np.ones(len(window.groups)) if PLATFORMS[window.platform] is CALM else slower(window)

    return found


@pytest.fixture
def ingested(
    engine: Engine, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ingested]:
    plan = FleetPlan(MACHINES, tmp_path / "s", tmp_path / "b", seed=SEED, strata=3)
    monkeypatch.setattr(Window, "_slower", _calm(Window._slower))
    fleet = Fleet(MACHINES, seed=SEED, strata=3, services=SERVICES_RUN)
    nominal = np.array([platform.nominal_mhz for platform in PLATFORMS])[fleet.platform]
    fleet.mhz = nominal * np.resize(SPEEDS, MACHINES)
    ingest_past(
        engine, archive, monkeypatch, plan, fleet,
        events=EVENTS, counted=Counted(cgroups=16), over=WHOLE, visits=VISITS,
    )  # fmt: skip
    asked = QueryEngine(engine)
    yield Ingested(asked, fleet, engine)
    asked.close()


def test_a_over_f_plus_b_is_that_of_the_law(
    ingested: Ingested, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = ingested.queries
    answer = queries.ask(FitQuestion(WHOLE, limit=100))
    assert answer.because is None
    with ingested.engine.connect() as connection:
        there = read_machine_visits(connection, WHOLE).coverage.ingested
    assert answer.inputs.used == answer.inputs.visits == there
    rows = {(row.application, row.platform): row for row in answer.rows}
    assert len(rows) == answer.rows_total
    _check_without_pressure(rows)
    _check_under_pressure(rows)
    _check_both_models_agree(queries, rows)
    _check_another_memory(queries)
    _check_what_cannot_be_said(ingested)
    _check_one_bad_visit(ingested, rows)
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    _check_reports()


Rows = dict[tuple[str, str], FrequencyFitRow]


def _known(rows: Rows, platform: Platform, visits: int) -> list[FrequencyFitRow]:
    return [
        row
        for (_, name), row in rows.items()
        if name == platform.name and row.visits >= visits and len(row.steps) > 2
    ]


def _true_share(name: str, platform: Platform, mhz: float) -> float:
    number = PLATFORMS.index(platform)
    application = next(each for each in APPLICATIONS if each.name == name)
    cycles = cycles_per_instruction(application, number, mhz)
    return waiting_s(application, number) * mhz * 1e6 / cycles


def _check_without_pressure(rows: Rows) -> None:
    found = _known(rows, CALM, 8)
    assert len(found) > 5
    foretold = 0
    for row in found:
        assert row.base_mhz is not None
        assert row.off_chip is not None
        assert row.waiting_ns is not None
        true = _true_share(row.application, CALM, row.base_mhz)
        assert row.off_chip.value == pytest.approx(true, abs=0.005), row.application
        application = next(each for each in APPLICATIONS if each.name == row.application)
        wait = waiting_s(application, PLATFORMS.index(CALM))
        assert row.waiting_ns.value == pytest.approx(wait * 1e9, rel=0.05)
        assert [step.mhz for step in row.steps] == pytest.approx(
            [part * CALM.nominal_mhz for part in SPEEDS], rel=0.01
        )
        assert row.lowest_mhz is not None
        assert row.lowest_mhz.value < 0.9 * row.base_mhz
        for each in row.slowdowns[1:]:
            assert each.slowdown is not None
            assert each.slowdown.value == pytest.approx((1 - true) * each.naive, abs=0.01)
        if any(step.held_out is None for step in row.steps):
            continue  # without one of them too few visits are left
        foretold += 1
        model_error, naive_error = (
            np.mean([abs(getattr(step, how)) for step in row.steps]) for how in ("held_out", "naive")
        )
        assert model_error < 0.01
        assert naive_error > 3 * model_error
    assert foretold > 3


def _check_under_pressure(rows: Rows) -> None:
    """Neighbours make the same instruction slower by up to a half, differently on every machine."""
    found = _known(rows, CROWDED, 8)
    assert len(found) > 8
    held = 0
    for row in found:
        assert row.base_mhz is not None
        assert row.off_chip is not None
        held += holds(row.off_chip, _true_share(row.application, CROWDED, row.base_mhz))
    assert held >= 0.85 * len(found), (held, len(found))
    largest = next(row.off_chip for row in found if row.application == TARGETS[0].name)
    assert largest is not None
    assert largest.lo is not None
    assert largest.hi is not None
    assert largest.lo > 0
    assert largest.hi < 0.7


def _check_both_models_agree(queries: QueryEngine, rows: Rows) -> None:
    """By misses and their latency, and without either."""
    one = replace(WHOLE, matchers=parse_matchers(f'{{platform="{CALM.name}"}}'))
    for target in TARGETS:
        fit = rows[target.name, CALM.name]
        assert fit.base_mhz is not None
        assert fit.off_chip is not None
        wanted = Wanted(fit.base_mhz)
        answer = queries.ask(FrequencyQuestion(one, wanted, latency_ns=CALM.latency_ns))
        share = next(row.off_chip for row in answer.rows if row.application == target.name)
        assert share is not None
        assert share.value == pytest.approx(fit.off_chip.value, abs=0.02)


def _check_another_memory(queries: QueryEngine) -> None:
    wanted = Wanted(memory=memory_change(3200.0, 4800.0, 0.75))
    answer = queries.ask(FitQuestion(WHOLE, wanted))
    row = next(row for row in answer.rows if row.off_chip is not None and row.platform == CALM.name)
    assert row.off_chip is not None
    assert row.lowest_mhz is not None
    share = row.off_chip.value
    at_base = row.slowdowns[0].at_memory
    assert at_base is not None
    assert at_base.value == pytest.approx(-0.25 * share)
    assert row.lowest_at_memory_mhz is not None
    assert row.lowest_at_memory_mhz.value < row.lowest_mhz.value
    assert row.lowest_at_memory_because is None
    _check_json(answer)
    slow = Wanted(memory=memory_change(3200.0, 160.0))
    hopeless = next(row for row in queries.ask(FitQuestion(WHOLE, slow)).rows if row.lowest_mhz is not None)
    answered = queries.ask(FrequencyQuestion(WHOLE, slow, latency_ns=20.0)).rows[0]
    for each in (hopeless, answered):
        assert each.lowest_at_memory_mhz is None
        assert each.lowest_at_memory_because is not None
        assert each.lowest_at_memory_because.reason == "unreachable"
    one_run = queries.ask(FrequencyQuestion(WHOLE, wanted, latency_ns=20.0))
    first = one_run.rows[0]
    assert first.off_chip is not None
    assert first.lowest_at_memory_because is None
    at_base = first.slowdowns[0].at_memory
    assert at_base is not None
    assert at_base.value == pytest.approx(-0.25 * first.off_chip.value)
    assert len(one_run.limits) > len(queries.ask(FrequencyQuestion(WHOLE, latency_ns=20.0)).limits)
    _check_json(one_run)


def _check_json(answer: FrequencyAnswer | FrequencyFitAnswer) -> None:
    """Its JSON is as described, and the same answer."""
    kind = adapter(type(answer))
    assert kind.validate_json(kind.dump_json(answer, by_alias=True)) == answer


def _check_what_cannot_be_said(ingested: Ingested) -> None:
    nobody = ingested.queries.ask(FitQuestion(replace(WHOLE, matchers=parse_matchers('{machine="none"}'))))
    assert nobody.because is not None
    assert nobody.because.reason == "too_little"
    # Of machines at one frequency every row says so, and none is left out.
    fast = "|".join(ingested.fleet.name(number) for number in range(2, MACHINES, len(SPEEDS)))
    same = ingested.queries.ask(
        FitQuestion(replace(WHOLE, matchers=parse_matchers(f'{{machine=~"{fast}"}}')))
    )
    assert same.rows
    for row in same.rows:
        assert row.off_chip is None
        assert row.steps == ()
        assert row.because is not None
        assert row.because.reason in {"constant", "too_little"}
    assert sum(row.because is not None and row.because.reason == "constant" for row in same.rows) > 5
    _check_json(same)
    assert same.because is not None
    assert same.because.reason == "constant"


def _check_one_bad_visit(ingested: Ingested, rows: Rows) -> None:
    """One application's cycles in one visit are a millionth: it is left out there, and the reason is in the answer."""
    name = TARGETS[0].name
    c = capture_counter.c
    with ingested.engine.begin() as connection:
        id_ = connection.scalar(
            select(dim_value.c.value_id).where(dim_value.c.dim == "application", dim_value.c.value == name)
        )
        whose = (c.name == "cycles") & (c.application == id_) & (c.scaled > 0)
        one = connection.scalar(select(func.min(cast(c.visit_id, Text))).where(whose))
        bad = whose & (cast(c.visit_id, Text) == one)
        connection.execute(update(capture_counter).where(bad).values(scaled=c.scaled / 1e6))
    found = ingested.queries.ask(FitQuestion(WHOLE, limit=100))
    assert sum(left.visits for left in found.left_out) == 1, found.left_out
    assert "10,000 MHz" in found.left_out[0].why
    after = {(row.application, row.platform): row for row in found.rows if row.application == name}
    assert sum(rows[key].visits - row.visits for key, row in after.items()) == 1
    for key, row in after.items():
        before = rows[key].off_chip
        assert row.off_chip is not None
        assert before is not None
        assert row.off_chip.value == pytest.approx(before.value, abs=0.1)


def _check_reports() -> None:
    runner = CliRunner(env={"COLUMNS": "250", "TERM": "dumb"})
    times = ("--from", format_time(WHOLE.start), "--to", format_time(WHOLE.end))

    def said(code: int, *words: str) -> str:
        result = runner.invoke(app, ["report", *words, *times])
        assert result.exit_code == code, (result.output, result.exception)
        return result.output

    adapter(FrequencyFitAnswer).validate_json(said(0, "frequency-fit", "--json"))
    shown = said(0, "frequency-fit", "--rows", "2")
    assert "more rows" in shown
    assert "1,470, 1,960, 2,450" in shown
    memory = ("--memory-mhz", "3200", "--memory-target-mhz", "4800")
    assert "→ with memory at 4,800 instead of 3,200 MHz" in said(0, "frequency-fit", *memory)
    one_run = ("frequency", "--latency-ns", "20")
    assert "→" not in said(0, *one_run)
    assert "→ with memory at 4,800" in said(0, *one_run, *memory)
    assert "No visit" in said(_NO_ANSWER, "frequency-fit", '{machine="none"}')
