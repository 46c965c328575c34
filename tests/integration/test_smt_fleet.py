"""GIVEN a simulated fleet whose threads share cores by a known law WHEN its past has been ingested THEN each way to APU says what is true."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, update
from typer.testing import CliRunner

from analysis.smt.capacity import forecast
from services.cli import app
from simulation.core_ground_truth import CoreTruth, core_truth
from simulation.fleet import Fleet
from simulation.fleet_plan import FleetPlan
from simulation.ground_truth import Wanted
from simulation.platforms import KEEPS_APART, KERNELS, PLATFORMS
from storage import calibrations
from storage.archive import Archive
from storage.calibrations import Calibration, Kind
from storage.campaigns import Counted, EventPlan
from storage.query.answers.answer import Answer, adapter, as_document
from storage.query.answers.apu import ApuAnswer, ApuRow
from storage.query.models.apu import ApuQuestion
from storage.query.models.capacity import CapacityQuestion
from storage.query.models.machine_loads import read_core_times
from storage.query.models.machine_types import MachineRates, MachineTypesQuestion, Served
from storage.query.query_engine import QueryEngine
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time
from storage.query.store_reading import StoreReading
from storage.schema import capture_counter
from tests.simulated_past import ingest_past

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.slow]

MACHINES, SEED, SERVICES_RUN = 8, 251, 3
HOURS, VISITS, STEP_S = 24, 200, 7200
DAY = datetime(2026, 11, 17, tzinfo=UTC)
WHOLE = Selection(DAY, DAY + timedelta(hours=HOURS))
EVENTS = (EventPlan("cpu", 1000, rate_hz=99.0, stacks=False),)
SHARED, ANY = PLATFORMS[1].name, PLATFORMS[2].name
"""Platforms that share a core's cycles out among its threads, and that count them on each."""


@dataclass(frozen=True)
class Ingested:
    engine: Engine
    queries: QueryEngine
    fleet: Fleet


@dataclass(frozen=True)
class _ServedQuestion:
    """What the comparison of two types at equal load is made of."""

    selection: Selection
    question: MachineTypesQuestion

    def answer(self, reading: StoreReading) -> Served:
        assert self.question.rates is not None
        return self.question.served(reading, read_core_times(reading, self.selection), self.question.rates)


@pytest.fixture
def ingested(
    engine: Engine, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ingested]:
    plan = FleetPlan(MACHINES, tmp_path / "s", tmp_path / "b", seed=SEED, strata=4)
    with engine.begin() as connection:
        for platform in PLATFORMS:
            calibrations.record(connection, Calibration(Kind.SMT, platform.name, "", platform.overlap))
    # Of one machine each are the platforms that count their cores' cycles; both are from a third to nearly full on this day.
    fleet = Fleet(MACHINES, seed=SEED, strata=4, services=SERVICES_RUN)
    ingest_past(
        engine, archive, monkeypatch, plan, fleet,
        events=EVENTS, counted=Counted(cgroups=16), over=WHOLE, visits=VISITS,
    )  # fmt: skip
    asked = QueryEngine(engine)
    yield Ingested(engine, asked, fleet)
    asked.close()


def test_cores_are_as_busy_as_they_are(
    ingested: Ingested, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _check_both_ways(ingested)
    _check_what_each_visit_knows(ingested)
    _check_applications(ingested)
    _check_capacity(ingested)
    _check_capacity_where_threads_are_kept_apart(ingested)
    _check_machine_types(ingested)
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    _check_report()
    _check_counters_that_contradict_themselves(ingested)


def _true(ingested: Ingested, platform: str) -> CoreTruth:
    return core_truth(
        ingested.fleet, Wanted(WHOLE.start.timestamp(), WHOLE.end.timestamp(), platform=platform)
    )


def _check_document(answer: Answer) -> None:
    """The answer's document is what the API describes."""
    assert adapter(type(answer)).validate_python(as_document(answer)) == answer


def _rows(ingested: Ingested, by: str = "platform") -> dict[str, ApuRow]:
    answer = ingested.queries.ask(ApuQuestion(WHOLE, by))
    assert answer.because is None
    _check_document(answer)
    return {row.value: row for row in answer.rows}


def _check_both_ways(ingested: Ingested) -> None:
    rows = _rows(ingested)
    for name in (SHARED, ANY):
        true, row = _true(ingested, name), rows[name]
        found = row.hardware
        assert found is not None
        for interval, is_ in (
            (found.apu, true.apu),
            (found.overlap, true.overlap),
            (found.thread_any, true.thread_any),
            (row.utilisation, true.utilisation),
        ):
            # Of 25 windows: eight honest intervals need not all hold, twice as wide ones must.
            assert 2 * interval.lo - interval.value <= is_ <= 2 * interval.hi - interval.value
        assert found.utilisation.value == pytest.approx(row.utilisation.value, rel=0.02)
        # What the same windows say, without the chance of which windows they were.
        wrong = found.system_overlap.value - found.overlap.value
        assert wrong == pytest.approx(true.independent_overlap - true.overlap, abs=0.01)
        assert found.apu.value - found.system_apu.value == pytest.approx(
            true.apu - true.independent_apu, abs=0.01
        )
        assert row.simplified.value == pytest.approx(true.simplified, rel=0.15)
    independent, apart = rows[SHARED].hardware, rows[ANY].hardware
    assert independent is not None
    assert apart is not None
    assert independent.largest_disagreement < 0.01
    assert apart.largest_disagreement > 0.05
    assert apart.system_apu.value < 0.97 * apart.apu.value
    kernels = {name: row.hardware for name, row in _rows(ingested, "kernel").items()}
    free, kept = kernels[KERNELS[0]], kernels[KERNELS[KEEPS_APART]]
    assert free is not None
    assert kept is not None
    assert free.largest_disagreement < 0.01
    assert kept.largest_disagreement > 0.05


def _check_what_each_visit_knows(ingested: Ingested) -> None:
    answer = ingested.queries.ask(ApuQuestion(WHOLE, "platform"))
    assert answer.inputs.used == answer.inputs.visits
    assert answer.hardware_used == sum(row.hardware_visits for row in answer.rows if row.hardware is not None)
    without = {left.why: left.visits for left in answer.hardware_left_out}
    assert answer.hardware_used + sum(without.values()) == answer.inputs.used
    assert list(without) == ["neither cycles-any nor cycles-distributed was counted"]
    assert answer.hardware_because is None
    amd = next(row for row in answer.rows if row.value == PLATFORMS[0].name)
    assert amd.hardware is None
    alone = replace(WHOLE, matchers=parse_matchers(f'{{platform="{PLATFORMS[0].name}"}}'))
    nothing = ingested.queries.ask(ApuQuestion(alone))
    assert nothing.because is None
    assert nothing.hardware_because is not None
    assert nothing.hardware_because.reason == "too_little"
    assert "cycles-any" in nothing.hardware_because.detail
    _check_document(nothing)


def _check_applications(ingested: Ingested) -> None:
    one = replace(WHOLE, matchers=parse_matchers(f'{{platform="{ANY}"}}'))
    answer = ingested.queries.ask(ApuQuestion(one, "application"))
    _check_document(answer)
    true = _true(ingested, ANY)
    for row in answer.rows[:3]:
        assert row.hardware_per_cpu_second is not None
        assert row.per_cpu_second is not None
        assert row.hardware_visits == row.visits
        # Cores that are shared less are used up more by each CPU second.
        assert row.hardware_per_cpu_second.value / row.per_cpu_second.value == pytest.approx(
            true.apu / true.independent_apu, rel=0.05
        )


def _check_capacity(ingested: Ingested) -> None:
    """DIGEST A7: requests are the truth's, and nobody has told the model what a core's second thread is worth."""
    selection = replace(WHOLE, matchers=parse_matchers(f'{{platform="{SHARED}"}}'))
    start = WHOLE.start.timestamp()
    steps = [
        core_truth(ingested.fleet, Wanted(start + at, start + at + STEP_S, platform=SHARED))
        for at in range(0, HOURS * 3600, STEP_S)
    ]
    found = ingested.queries.ask(
        CapacityQuestion(selection, tuple(step.requests_per_s for step in steps), STEP_S)
    )
    by_apu, by_utilisation, by_hardware = found.by_apu, found.by_utilisation, found.by_hardware
    assert by_apu.limit is not None
    assert by_utilisation.limit is not None
    assert by_hardware.limit is not None
    assert by_apu.because is by_utilisation.because is by_hardware.because is None
    assert by_hardware.limit.value == pytest.approx(by_apu.limit.value, rel=0.02)
    full = steps[0].full_per_s
    off, naive = (abs(each.limit.value / full - 1) for each in (by_apu, by_utilisation))
    # Of 25 windows; without their chance APU is right to a thousandth (tests/unit/simulation/test_threads.py).
    assert off < 0.1
    assert off < naive
    assert by_utilisation.limit.value > by_apu.limit.value
    assert by_utilisation.limit.value > full

    # All machines together: most have no counters, and the load of the others is not theirs.
    _check_document(found)
    mixed = ingested.queries.ask(CapacityQuestion(WHOLE, (1.0,) * len(steps), STEP_S)).by_hardware
    assert mixed.limit is None
    assert mixed.because is not None
    assert "Select a platform whose machines count" in mixed.because.detail


def _check_capacity_where_threads_are_kept_apart(ingested: Ingested) -> None:
    selection = replace(WHOLE, matchers=parse_matchers(f'{{platform="{ANY}"}}'))
    start = WHOLE.start.timestamp()
    steps = [
        core_truth(ingested.fleet, Wanted(start + at, start + at + STEP_S, platform=ANY))
        for at in range(0, HOURS * 3600, STEP_S)
    ]
    rates = tuple(step.requests_per_s for step in steps)
    full = steps[0].full_per_s
    found = ingested.queries.ask(CapacityQuestion(selection, rates, STEP_S))
    assert found.by_hardware.limit is not None
    assert found.by_apu.limit is not None
    assert found.by_utilisation.limit is not None
    # Of 24 windows, whose chance moves all three alike: only counters know what the kernel does.
    off = [found.by_hardware.limit.value / full - 1, found.by_apu.limit.value / full - 1]
    assert abs(off[0]) < 0.06
    assert off[1] - off[0] > 0.02
    assert found.by_apu.limit.value < found.by_utilisation.limit.value
    # Without chance, by the law that the windows are drawn from:
    assert forecast(rates, [step.apu for step in steps], 1.0).limit.value == pytest.approx(full, rel=1e-6)
    assert forecast(rates, [step.independent_apu for step in steps], 1.0).limit.value > 1.02 * full


def _check_machine_types(ingested: Ingested) -> None:
    """DIGEST A8: by counters where both types have them, else by the operating systems' times of both."""
    rows = _rows(ingested)
    shared, apart, amd = rows[SHARED], rows[ANY], rows[PLATFORMS[0].name]
    assert shared.hardware is not None
    assert apart.hardware is not None
    for old, ratio, basis, apu in (
        (shared, shared.hardware.apu.value / apart.hardware.apu.value, "counters", apart.hardware.apu),
        (amd, amd.apu.value / apart.apu.value, "operating_system", apart.apu),
    ):
        question = MachineTypesQuestion(WHOLE, old.value, ANY, 1.0, 1.3)
        answer = ingested.queries.ask(question)
        assert answer.because is None
        assert answer.apu_ratio is not None
        assert answer.apu_ratio.value == pytest.approx(ratio)
        _check_document(answer)
        assert answer.apu_basis == basis
        assert answer.rows[1].apu == apu
    # Both served by the same law: the one that the counters of each follow.
    start = WHOLE.start.timestamp()
    of_old, of_new = (
        tuple(
            core_truth(ingested.fleet, Wanted(start + at, start + at + STEP_S, platform=name)).requests_per_s
            for at in range(0, HOURS * 3600, STEP_S)
        )
        for name in (SHARED, ANY)
    )
    rates = MachineRates(of_old, of_new, STEP_S)
    question = MachineTypesQuestion(WHOLE, SHARED, ANY, 1.0, 1.3, rates=rates)
    served = ingested.queries.ask(_ServedQuestion(WHOLE, question))
    assert served.counted
    alone = replace(WHOLE, matchers=parse_matchers(f'{{platform="{ANY}"}}'))
    one = ingested.queries.ask(CapacityQuestion(alone, of_new, STEP_S))
    # Both types are read at once, and each is what it is alone, to the order in which sums are added up.
    assert served.new.inputs == one.inputs
    assert [step.visits for step in served.new.steps] == [step.visits for step in one.rows]
    answer = ingested.queries.ask(question)
    assert answer.apu_basis == "counters"
    new = answer.rows[1].by_apu
    assert one.by_hardware.limit is not None
    assert new is not None
    assert new.rate is not None
    assert new.rate.value == pytest.approx(one.by_hardware.limit.value, rel=1e-9)
    assert answer.apu_because is None
    assert new.price is not None
    assert new.price.value == pytest.approx(1.3 / one.by_hardware.limit.value)
    _check_document(answer)


def _check_report() -> None:
    times = ("--from", format_time(WHOLE.start), "--to", format_time(WHOLE.end))
    said = {}
    for by in ("platform", "application"):
        words = ["report", "apu", "--by", by, *times]
        answer = CliRunner().invoke(app, [*words, "--json"])
        assert answer.exit_code == 0, answer.output
        adapter(ApuAnswer).validate_python(json.loads(answer.output))
        shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)
        assert shown.exit_code == 0, shown.output
        said[by] = " ".join(shown.output.split())
    assert "differs by up to" in said["platform"]
    assert "without counters of cycles" in said["platform"]
    assert "by counters" in said["application"]


def _check_counters_that_contradict_themselves(ingested: Ingested) -> None:
    c = capture_counter.c
    with ingested.engine.begin() as connection:
        connection.execute(update(capture_counter).where(c.name == "cycles-any").values(scaled=c.scaled * 2))
        connection.execute(update(capture_counter).where(c.name == "cycles-distributed").values(cpus=3))
    answer = ingested.queries.ask(ApuQuestion(WHOLE, "platform"))
    assert answer.hardware_used == 0
    assert {row.hardware for row in answer.rows} == {None}
    said = " ".join(left.why for left in answer.hardware_left_out)
    assert "busy for longer" in said
    assert "counted on different CPUs" in said
    assert answer.because is None
