"""GIVEN a simulated fleet whose truth is known WHEN its past has been ingested THEN each model's question answers with it."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from simulation.catalogue import APPLICATIONS
from simulation.fleet import Fleet
from simulation.fleet_plan import FleetPlan
from simulation.ground_truth import Wanted, cycles_per_instruction, truth
from simulation.platforms import PLATFORMS
from simulation.rates import units_per_core_second
from storage.archive import Archive
from storage.campaigns import Counted, EventPlan
from storage.query.answers.affinity import Present
from storage.query.models.affinity import AffinityQuestion
from storage.query.models.apu import ApuQuestion
from storage.query.models.composition import CompositionQuestion
from storage.query.models.cross_check import CrossCheckQuestion
from storage.query.models.frequency import FrequencyQuestion
from storage.query.models.interference import TargetQuestion
from storage.query.models.ratios import RatioQuestion
from storage.query.models.side_by_side import SideQuestion
from storage.query.query_engine import QueryEngine
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from tests.figure_bounds import holds
from tests.integration.audited import check_audits
from tests.integration.reported import check_reports
from tests.simulated_past import ingest_past

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300), pytest.mark.slow]

MACHINES = 40
DAY = datetime(2026, 11, 17, tzinfo=UTC)
HOURS = 12
VISITS = 160
EVENTS = (EventPlan("cpu", 1000, rate_hz=99.0), EventPlan("llc-misses", 500, stacks=False, turn=1))
WHOLE = Selection(DAY, DAY + timedelta(hours=HOURS))


@dataclass(frozen=True)
class Ingested:
    queries: QueryEngine
    fleet: Fleet


@pytest.fixture
def ingested(
    engine: Engine, archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ingested]:
    plan = FleetPlan(MACHINES, tmp_path / "s", tmp_path / "b", strata=6)
    ingest_past(
        engine, archive, monkeypatch, plan, plan.model(),
        events=EVENTS, counted=Counted(cgroups=16), over=WHOLE, visits=VISITS, ids=3,
    )  # fmt: skip
    asked = QueryEngine(engine)
    yield Ingested(asked, plan.model())
    asked.close()


def test_models_find_what_is_true_of_the_fleet(
    ingested: Ingested, database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    queries = ingested.queries
    _check_cpi(ingested)
    _check_accounts(queries)
    _check_cores(queries)
    _check_platforms(queries)
    _check_frequencies(queries)
    _check_two_platforms(ingested)
    _check_composition(ingested)
    _check_interference(queries)
    check_audits(ingested.queries, ingested.fleet, WHOLE)
    monkeypatch.setenv("FLEETPROF_DATABASE_URL", database_url)
    check_reports(WHOLE, tuple(platform.name for platform in PLATFORMS[:2]), tmp_path)


def _check_cpi(ingested: Ingested) -> None:
    queries = ingested.queries
    answer = queries.ask(RatioQuestion(WHOLE, "cpi", ("application", "platform")))
    assert answer.because is None
    start, end = WHOLE.start.timestamp(), WHOLE.end.timestamp()
    true = {
        (application, platform.name): cpi
        for platform in PLATFORMS
        for application, cpi in cycles_per_instruction(
            ingested.fleet, Wanted(start, end, platform=platform.name)
        ).items()
    }
    # Of few visits, and of what is counted only where little else runs, the mean says little of the whole.
    found = [row for row in answer.rows if row.visits >= 8 and tuple(row.key.values()) in true]
    assert len(found) > 15
    off, held = [], 0
    for row in found:
        assert row.ratio is not None
        cpi = true[row.key["application"], row.key["platform"]]
        off.append(np.log(row.ratio.value / cpi))
        held += holds(row.ratio, cpi)
    # Control groups are counted where they are among those that run most, mostly where others leave cores to them alone.
    assert np.median(off) == pytest.approx(0, abs=0.05)
    assert np.abs(off).max() < 0.25
    # A visit counts the same few machines again, which no interval of visits knows.
    assert held >= 0.5 * len(found), (held, off)
    whole = queries.ask(RatioQuestion(WHOLE, "cpi", ())).rows
    assert len(whole) == 1
    virtual = [failure for failure in answer.inputs.missing if failure.name == "cycles"]
    assert virtual
    assert all(failure.status == "unsupported" for failure in virtual)
    assert answer.inputs.used + sum(failure.visits for failure in virtual) <= answer.inputs.visits


def _check_accounts(queries: QueryEngine) -> None:
    answer = queries.ask(CrossCheckQuestion(WHOLE))
    assert answer.because is None
    assert answer.rows
    assert all(row.verdict == "agree" for row in answer.rows)


def _check_cores(queries: QueryEngine) -> None:
    nothing = queries.ask(ApuQuestion(WHOLE))
    assert nothing.because is not None
    assert "calibrate" in nothing.because.detail
    assert sum(left.visits for left in nothing.left_out) == nothing.inputs.visits
    # With OC 1 threads do not hinder each other, with 2 the second adds nothing: both ends are known measures.
    for coefficient, same in ((1.0, "utilisation"), (2.0, "thread_any")):
        rows = queries.ask(ApuQuestion(WHOLE, "datacenter", coefficient)).rows
        assert len(rows) > 1
        for row in rows:
            other = getattr(row, same)
            assert astuple(row.apu) == pytest.approx(astuple(other))
            assert row.utilisation.value <= row.thread_any.value
    between = queries.ask(ApuQuestion(WHOLE, "datacenter", 1.4))
    for row in between.rows:
        assert row.utilisation.value < row.apu.value < row.thread_any.value
    used = queries.ask(ApuQuestion(WHOLE, "application", 1.0)).rows
    # With OC 1 a CPU second uses up half of a core's.
    assert all(row.per_cpu_second.value == pytest.approx(0.5, rel=0.1) for row in used[:10])


def _check_platforms(queries: QueryEngine) -> None:
    # CPI of the simulated fleet is nearly a product of application and platform: exchanging equal work saves little.
    answer = queries.ask(AffinityQuestion(WHOLE, applications=12))
    assert answer.because is None
    assert answer.present_cycles is not None
    assert answer.planned_cycles is not None
    assert answer.saving_cycles is not None
    assert len({each.platform for each in answer.present}) > 1
    assert answer.planned_cycles <= answer.present_cycles
    assert answer.saving_cycles.value == pytest.approx(0, abs=0.05 * answer.present_cycles)
    # With room, all work goes where CPI is lowest of where anybody has measured it.
    roomy = queries.ask(AffinityQuestion(WHOLE, applications=12, room=10.0, cautious=False))
    of_application: dict[str, list[Present]] = {}
    for each in answer.present:
        of_application.setdefault(each.application, []).append(each)
    least = sum(
        sum(each.instructions for each in here) * min(each.cpi.value for each in here if each.cpi is not None)
        for here in of_application.values()
    )
    assert roomy.planned_cycles == pytest.approx(least, rel=1e-6)
    pinned = queries.ask(AffinityQuestion(WHOLE, applications=12, room=10.0, pinned=tuple(of_application)))
    assert pinned.because is None
    assert pinned.rows == ()


def _check_frequencies(queries: QueryEngine) -> None:
    nothing = queries.ask(FrequencyQuestion(WHOLE))
    assert nothing.because is not None
    assert "calibrate" in nothing.because.detail
    platform = PLATFORMS[0]
    one = replace(WHOLE, matchers=parse_matchers(f'{{platform="{platform.name}"}}'))
    answer = queries.ask(FrequencyQuestion(one, latency_ns=20.0))
    assert answer.because is None
    assert answer.base_mhz is not None
    assert answer.inputs.used > 20
    application = {each.name: each for each in APPLICATIONS}
    for row in answer.rows[:8]:
        assert row.off_chip is not None
        waiting = 20e-9 * units_per_core_second("llc-misses", application[row.application], 0)
        # Frequencies differ between visits; the base is their mean.
        assert row.off_chip.value == pytest.approx(waiting, rel=0.1)
        first, last = row.slowdowns[0], row.slowdowns[-1]
        assert first.slowdown is not None
        assert last.slowdown is not None
        assert first.slowdown.value == pytest.approx(0, abs=1e-9)
        assert last.slowdown.value < last.naive
        assert row.lowest_mhz is not None
        assert 0.85 * answer.base_mhz < row.lowest_mhz.value < 0.9 * answer.base_mhz


def _check_two_platforms(ingested: Ingested) -> None:
    queries = ingested.queries
    on: dict[str, list[str]] = {}
    for row in queries.ask(RatioQuestion(WHOLE, "cpi", ("application", "platform"))).rows:
        on.setdefault(row.key["application"], []).append(row.key["platform"])
    largest, names = next((name, names) for name, names in on.items() if len(names) > 1)
    first, second = (next(p for p in PLATFORMS if p.name == name) for name in names[:2])
    one = replace(WHOLE, matchers=parse_matchers(f'{{application="{largest}"}}'))
    answer = queries.ask(SideQuestion(one, first.name, second.name))
    assert answer.because is None
    factor = {row.name: row for row in answer.rows}["cpi"].factor
    assert factor is not None
    start, end = WHOLE.start.timestamp(), WHOLE.end.timestamp()
    here, there = (
        cycles_per_instruction(ingested.fleet, Wanted(start, end, application=largest, platform=p.name))[
            largest
        ]
        for p in (first, second)
    )
    assert factor.value == pytest.approx(there / here, rel=0.1)
    assert not any(row.suspect for row in answer.rows)
    absent = queries.ask(SideQuestion(WHOLE, first.name, "Z80"))
    assert absent.because is not None
    assert "Z80" in absent.because.detail


def _check_composition(ingested: Ingested) -> None:
    answer = ingested.queries.ask(CompositionQuestion(WHOLE, "platform", step_s=3 * 3600))
    assert answer.because is None
    held = given = 0
    for number, start in enumerate(map(datetime.fromisoformat, answer.times)):
        begin, end = start.timestamp(), (start + timedelta(hours=3)).timestamp()
        whole = truth(ingested.fleet, Wanted(begin, end)).units
        points = [row.points[number].share for row in answer.rows]
        assert sum(point.value for point in points if point is not None) == pytest.approx(1)
        for row, point in zip(answer.rows, points, strict=True):
            if point is None:
                continue
            part = truth(ingested.fleet, Wanted(begin, end, platform=row.value)).units / whole
            given += 1
            held += point.lo <= part <= point.hi
    assert given >= 8
    assert held >= 0.75 * given


def _check_interference(queries: QueryEngine) -> None:
    # Of the fleet's many services hardly one was ever alone often enough in half a day.
    name = APPLICATIONS[0].name
    for platform in PLATFORMS[:2]:
        found = queries.ask(TargetQuestion(WHOLE, name, platform.name))
        left_out = {each.why: each.visits for each in found.left_out}
        assert found.inputs.used + sum(left_out.values()) == found.inputs.visits
        several = [why for why in left_out if "several sockets" in why]
        assert several
        assert left_out[several[0]] > 10
        if platform.packages > 1:
            assert found.because is not None
            assert found.because.reason == "too_little"
            assert found.inputs.used == 0
        else:
            assert found.inputs.used > 20
