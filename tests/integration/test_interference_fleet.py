"""GIVEN a simulated fleet of one chip a machine, some with one service only WHEN its past has been ingested THEN interference is that of its law."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from analysis.interference.experiments import Metric, Run
from simulation.catalogue import SERVICES
from simulation.contention import slowdown
from simulation.fleet import Fleet
from simulation.fleet_plan import FleetPlan
from simulation.ground_truth import Wanted, cycles_per_instruction
from simulation.platforms import PLATFORMS
from simulation.rates import MEMORY, units_per_core_second
from storage import experiments
from storage.archive import Archive
from storage.campaigns import Counted, EventPlan
from storage.errors import BadSelection
from storage.experiments import PlatformRun
from storage.query.answers.answer import Answer, adapter, as_document
from storage.query.models.interference import TargetQuestion
from storage.query.models.placement import PlacementQuestion
from storage.query.query_engine import QueryEngine
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from tests.integration.reported import check_sharing_reports
from tests.simulated_past import ingest_past

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.slow]

MACHINES, SEED, SERVICES_RUN = 30, 5, 4
HOURS, VISITS = 12, 260
DAY = datetime(2026, 11, 17, 9, tzinfo=UTC)
WHOLE = Selection(DAY, DAY + timedelta(hours=HOURS))
PEAK = PLATFORMS[0].peak_gbs
EVENTS = (EventPlan("cpu", 1000, rate_hz=99.0, stacks=False),)
TARGETS = SERVICES[:3]


@dataclass(frozen=True)
class Ingested:
    engine: Engine
    queries: QueryEngine
    fleet: Fleet


@pytest.fixture
def ingested(
    engine: Engine, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ingested]:
    plan = FleetPlan(MACHINES, tmp_path / "s", tmp_path / "b", seed=SEED, strata=1)
    # The law is of neighbours on a chip: nobody shares a core here, which would slow down the busy too.
    fleet = Fleet(MACHINES, seed=SEED, strata=1, services=SERVICES_RUN, dedicated=0.3, smt=False)
    # One machine below the frequency of the others, as governors may keep it.
    slowed = int(np.flatnonzero(~fleet.is_dedicated & ~fleet.is_idle & (fleet.base[:, 0] == 0))[0])
    fleet.mhz[slowed] *= 0.8
    ingest_past(
        engine, archive, monkeypatch, plan, fleet,
        events=EVENTS, counted=Counted(("l2-lines-in",), 16), over=WHOLE, visits=VISITS,
    )  # fmt: skip
    asked = QueryEngine(engine)
    yield Ingested(engine, asked, fleet)
    asked.close()


def test_interference_is_that_of_the_law(
    ingested: Ingested, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _check_targets(ingested)
    _check_a_mix(ingested.queries)
    _check_placement(ingested.queries)
    _check_what_cannot_be_said(ingested.queries)
    _check_that_experiments_do_not_mix(ingested)
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    check_sharing_reports(WHOLE, TARGETS[1].name, TARGETS[0].name, PEAK)


def _check_document(found: Answer) -> None:
    """The JSON has the members and types of the description, and is the same answer."""
    assert adapter(type(found)).validate_python(as_document(found)) == found


def _check_targets(ingested: Ingested) -> None:
    alone = cycles_per_instruction(
        ingested.fleet, Wanted(WHOLE.start.timestamp(), WHOLE.end.timestamp(), alone=True)
    )
    learned = 0
    for application in TARGETS:
        found = ingested.queries.ask(TargetQuestion(WHOLE, application.name, peak_gbs=PEAK))
        assert found.because is None, (application.name, found.because)
        assert found.chip.platform == PLATFORMS[0].name
        assert found.chip.lines == "l2-lines-in"
        assert not found.chip.peak_is_seen
        assert found.solo is not None
        # Of few machines, each as busy as it happened to be.
        assert found.solo.cpi is not None
        assert found.solo.cpi == pytest.approx(alone[application.name], rel=0.1)
        rate = units_per_core_second("l2-lines-in", application, 0) / 1e6
        assert found.solo.lines == pytest.approx(rate, rel=0.1)
        moved = sum(units_per_core_second(name, application, 0) for name in MEMORY) / 1e9
        assert found.solo.gigabytes == pytest.approx(moved, rel=0.1)
        assert found.error is not None
        assert found.baseline_error is not None
        assert found.error < found.baseline_error / 2
        for piece in found.rows:
            if piece.intercept is None:
                assert piece.because is not None
                continue
            learned += 1
            lines, gigabytes = piece.cache_mean, piece.bandwidth_mean
            assert lines is not None
            assert gigabytes is not None
            slower = float(slowdown(application, lines * 1e6, gigabytes, PEAK))
            true = application.cpi * slower / found.solo.cpi - 1
            # The value of the function at its mean pressure.
            assert piece.intercept == pytest.approx(true, abs=0.02), application.name
        _check_document(found)
    assert learned >= 2 * len(TARGETS)
    services = {service.name for service in SERVICES[:SERVICES_RUN]}
    known = {each.application for each in found.neighbours}
    assert {target.name for target in TARGETS} <= known <= services
    left_out = {each.why: each.visits for each in found.left_out}
    assert 0 < left_out["it ran at another frequency than most"] < 20


def _check_a_mix(queries: QueryEngine) -> None:
    target, neighbour = TARGETS[1], TARGETS[0]
    question = TargetQuestion(WHOLE, target.name, beside=((neighbour.name, 6.0),), cores=4.0, peak_gbs=PEAK)
    found = queries.ask(question)
    assert found.mix is not None
    assert found.mix.degradation is not None
    assert found.solo is not None
    assert found.solo.cpi is not None
    lines, gigabytes = (
        sum(
            cores * units_per_core_second(name, application, 0)
            for application, cores in ((target, 4.0), (neighbour, 6.0))
            for name in names
        )
        for names in (("l2-lines-in",), MEMORY)
    )
    assert found.mix.lines == pytest.approx(lines / 1e6, rel=0.1)
    true = target.cpi * float(slowdown(target, lines, gigabytes / 1e9, PEAK)) / found.solo.cpi - 1
    assert found.mix.degradation.value == pytest.approx(true, abs=0.02)
    unknown = queries.ask(replace(question, beside=(("kubelet", 1.0),)))
    assert unknown.mix is not None
    assert unknown.mix.because is not None
    assert "kubelet" in unknown.mix.because.detail
    _check_document(unknown)


def _check_placement(queries: QueryEngine) -> None:
    names = [application.name for application in TARGETS]
    tenants = tuple((name, 10.0) for name in (*names, names[2]))
    found = queries.ask(PlacementQuestion(WHOLE, tenants, machines=2, slots=2, peak_gbs=PEAK))
    assert found.because is None
    assert [row.application for row in found.rows] == [name for name, _ in tenants]
    assert sorted(row.machine for row in found.rows if row.machine is not None) == [0, 0, 1, 1]
    assert all(row.kept for row in found.rows if row.degradation is not None)
    assert any(row.degradation is not None for row in found.rows)
    _check_document(found)
    crowded = queries.ask(PlacementQuestion(WHOLE, tenants, machines=1, slots=2, peak_gbs=PEAK))
    assert crowded.because is not None
    assert crowded.because.reason == "unreachable"
    strange = queries.ask(PlacementQuestion(WHOLE, ((names[0], None), ("kubelet", None)), machines=1))
    assert strange.because is not None
    assert strange.because.reason == "too_little"
    assert all(row.machine is None for row in strange.rows)
    _check_document(strange)


def _check_what_cannot_be_said(queries: QueryEngine) -> None:
    name = TARGETS[0].name
    for question, said in (
        (TargetQuestion(WHOLE, "nobody"), "nobody"),
        (TargetQuestion(WHOLE, "kubelet"), "to itself"),
        (TargetQuestion(WHOLE, name, "Z80"), "another platform"),
        (TargetQuestion(replace(WHOLE, end=DAY + timedelta(minutes=1)), name), ""),
        (TargetQuestion(replace(WHOLE, end=DAY + timedelta(hours=1)), name), ""),
    ):
        found = queries.ask(question)
        assert found.because is not None, question
        assert found.because.reason == "too_little"
        assert said in found.because.detail
        assert found.error is None
        assert not found.rows
        assert not found.mixes
        _check_document(found)
    seen = queries.ask(TargetQuestion(WHOLE, name))
    assert seen.chip.peak_is_seen
    assert seen.chip.peak_gbs is not None
    assert 0 < seen.chip.peak_gbs < 2 * PEAK
    some = replace(WHOLE, matchers=parse_matchers(f'{{application="{name}"}}'))
    with pytest.raises(BadSelection, match="affect each other"):
        queries.ask(TargetQuestion(some, name))
    for wrong in (
        TargetQuestion(WHOLE, ""),
        TargetQuestion(WHOLE, name, beside=((name, 0.0),)),
        TargetQuestion(WHOLE, name, peak_gbs=0.0),
        PlacementQuestion(WHOLE, (), 1),
        PlacementQuestion(WHOLE, ((name, -1.0),), 1),
    ):
        with pytest.raises(BadSelection):
            queries.ask(wrong)


def _check_that_experiments_do_not_mix(ingested: Ingested) -> None:
    """Of one who is known by visits, and of one who never has a machine to itself."""
    known, busy = TARGETS[0].name, "kubelet"
    alone = [Run(name, (), Metric.CPI, 1.0, 5.0, 1.0, 1.0) for name in (known, busy)]
    mixes = [
        Run(name, (known, *(busy,) * (number % 4)), Metric.CPI, 1.0 + 0.1 * (1 + number % 4))
        for name in (known, busy)
        for number in range(24)
    ]
    runs = [PlatformRun(line, PLATFORMS[0].name, run) for line, run in enumerate((*alone, *mixes), 2)]
    question = TargetQuestion(WHOLE, known, peak_gbs=PEAK)
    before = ingested.queries.ask(question)
    with ingested.engine.begin() as connection:
        experiments.keep(connection, "lab", runs)
    again = ingested.queries.ask(question)
    assert again == before
    source = before.source
    assert (source.trained_by, source.experiments, source.runs) == ("visits", None, 0)
    assert source.instead_of_visits is None
    assert source.visits == before.mixes > 24
    named = ingested.queries.ask(replace(question, experiments="lab"))
    assert (named.source.experiments, named.source.visits, named.source.runs) == ("lab", 0, 24)
    assert named.baseline == pytest.approx(0.25)
    assert {each.application for each in named.neighbours} == {known, busy}
    assert (named.inputs.visits, named.inputs.used) == (0, 0)
    other = ingested.queries.ask(replace(question, target=busy))
    assert other.source.experiments == "lab"
    assert other.source.instead_of_visits is not None
    assert "to itself" in other.source.instead_of_visits.detail
    assert other.inputs.used == 0
    # One of the two is known by visits, but a placement has one source.
    placed = ingested.queries.ask(PlacementQuestion(WHOLE, ((known, None), (busy, None)), 1, peak_gbs=PEAK))
    assert (placed.source.experiments, placed.source.runs) == ("lab", 48)
    assert placed.source.instead_of_visits is not None
    with ingested.engine.begin() as connection:
        experiments.remove(connection, "lab")
