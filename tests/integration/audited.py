"""Audits of the simulated fleet against its truth: features, load tests, badges, capacity and machine types."""

from dataclasses import replace

import pytest

from simulation.fleet import Fleet
from simulation.ground_truth import Wanted, truth
from storage.errors import BadSelection
from storage.query.models.apu import ApuQuestion
from storage.query.models.capacity import CapacityQuestion
from storage.query.models.feature import FeatureQuestion
from storage.query.models.load_test import LoadTestQuestion
from storage.query.models.machine_types import MachineRates, MachineTypesQuestion
from storage.query.models.stability import StabilityQuestion
from storage.query.query_engine import QueryEngine
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.selection import Selection
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.table import TableQuestion

_HOURS = 12


def check_audits(queries: QueryEngine, fleet: Fleet, whole: Selection) -> None:
    """Hold what audits answer about an ingested past of twelve hours to what is true of it."""
    own: dict[str, float] = {}
    true = truth(fleet, Wanted(whole.start.timestamp(), whole.end.timestamp()))
    for (name, _), found in true.functions.items():
        own[name] = own.get(name, 0.0) + found.self_share
    _check_feature(queries, whole, own)
    _check_badge(queries, whole, own)
    _check_load_test(queries, whole)
    _check_capacity(queries, whole)
    _check_types(queries, whole)


def _check_feature(queries: QueryEngine, whole: Selection, own: dict[str, float]) -> None:
    found = queries.ask(FeatureQuestion(whole, "a", speedup=4.0))
    assert found.share is not None
    assert found.saved is not None
    true = sum(share for name, share in own.items() if "a" in name)
    # Sampling errors of all functions together: the interval is honest, so twice as wide a one must hold.
    share = found.share
    assert 2 * share.lo - share.value <= true <= 2 * share.hi - share.value
    assert found.saved.value == pytest.approx(0.75 * share.value)
    assert sum(row.share for row in found.rows) <= share.value + 1e-9
    every = queries.ask(FeatureQuestion(whole, ".*"))
    assert every.share is not None
    assert every.share.value == pytest.approx(1)
    nothing = queries.ask(FeatureQuestion(whole, "^no such function$"))
    assert nothing.share is not None
    assert nothing.share.value == 0
    with pytest.raises(BadSelection, match="functions that the feature would affect"):
        queries.ask(FeatureQuestion(whole, ""))


def _check_badge(queries: QueryEngine, whole: Selection, own: dict[str, float]) -> None:
    found = queries.ask(StabilityQuestion(whole))
    assert found.because is None
    assert found.misplaced is not None
    assert found.badge in {"steady", "fair", "rough"}
    (day,) = found.rows
    assert day.visits == found.totals.visits
    assert day.samples == found.samples == found.totals.samples
    table = queries.ask(TableQuestion(whole, ("function",), Page(Sort.SELF_DESC, 10_000, 0, "")))
    seen: dict[str, float] = {}
    for row in table.rows:
        seen[row.key["function"]] = seen.get(row.key["function"], 0.0) + row.self_share
    misplaced = sum(abs(seen.get(name, 0.0) - own.get(name, 0.0)) for name in seen.keys() | own.keys()) / 2
    assert misplaced <= 2 * found.misplaced.hi
    few = queries.ask(StabilityQuestion(replace(whole, matchers=parse_matchers('{application="none"}'))))
    assert few.because is not None
    assert few.badge is None


def _check_load_test(queries: QueryEngine, whole: Selection) -> None:
    same = queries.ask(LoadTestQuestion(whole, whole))
    assert same.because is None
    assert same.distance == pytest.approx(0)
    assert same.covered == pytest.approx(1)
    assert same.rows == ()
    one, others = (
        replace(whole, matchers=parse_matchers(f'{{application{operator}"search-ranker"}}'))
        for operator in ("=", "!=")
    )
    unlike = queries.ask(LoadTestQuestion(one, others))
    assert unlike.because is None
    assert unlike.representative is False
    assert unlike.covered < 1
    assert unlike.rows_total > 0
    assert all(row.delta.value == row.test_share - row.production_share for row in unlike.rows)
    assert all(row.delta.lo < row.delta.value < row.delta.hi for row in unlike.rows)
    assert all(abs(row.delta.value) >= 0.001 for row in unlike.rows)
    assert abs(unlike.rows[0].delta.value) >= abs(unlike.rows[-1].delta.value)
    nobody = replace(whole, matchers=parse_matchers('{application="none"}'))
    assert queries.ask(LoadTestQuestion(nobody, whole)).because is not None


def _check_capacity(queries: QueryEngine, whole: Selection) -> None:
    nothing = queries.ask(CapacityQuestion(whole, (None,) * _HOURS))
    assert nothing.because is not None
    assert nothing.because.reason == "too_little"
    loads = [step.utilisation for step in nothing.rows]
    known = [None if load is None else load.value for load in loads]
    assert len(known) == _HOURS
    assert all(step.apu is None for step in nothing.rows)
    # Requests that are made of the load itself: 2 % idle, 0.1 % a request; so the machines are full at 980.
    rates = tuple(None if load is None else (load - 0.02) / 0.001 for load in known)
    found = queries.ask(CapacityQuestion(whole, rates))
    assert found.by_utilisation.because is None
    assert found.by_utilisation.limit is not None
    assert found.by_utilisation.limit.value == pytest.approx(980)
    assert found.by_utilisation.intercept == pytest.approx(0.02)
    assert found.by_apu.limit is None
    assert found.by_apu.because is not None
    assert "calibrate" in found.by_apu.because.detail
    assert found.because is None
    # With OC 1 APU is utilisation; above, the same requests fill the cores sooner.
    alike, sooner = (queries.ask(CapacityQuestion(whole, rates, coefficient=oc)).by_apu for oc in (1.0, 1.6))
    assert alike.limit is not None
    assert sooner.limit is not None
    assert alike.limit.value == pytest.approx(980)
    assert sooner.limit.value < 960
    with pytest.raises(BadSelection, match="The time range has 12 steps of 3,600 s"):
        queries.ask(CapacityQuestion(whole, (1.0, 2.0)))


def _check_types(queries: QueryEngine, whole: Selection) -> None:
    old, new = queries.ask(ApuQuestion(whole, "platform", 1.4)).rows[:2]
    found = queries.ask(MachineTypesQuestion(whole, old.value, new.value, 1.0, 1e-6, 1.4))
    assert found.because is None
    assert found.apu_ratio.value == pytest.approx(old.apu.value / new.apu.value)
    assert found.utilisation_ratio.value == pytest.approx(old.utilisation.value / new.utilisation.value)
    assert found.by_apu == found.by_utilisation == "new"
    assert found.stress_test is False
    dear = queries.ask(MachineTypesQuestion(whole, old.value, new.value, 1.0, 1e6, 1.4))
    assert dear.by_apu == "old"
    _check_types_at_equal_load(queries, whole, old.value, new.value)
    gone = queries.ask(MachineTypesQuestion(whole, old.value, "Z80", 1.0, 1.0, 1.4))
    assert gone.because is not None
    assert "Z80" in gone.because.detail
    (row,) = gone.rows
    assert (row.platform, row.utilisation, row.apu) == (old.value, old.utilisation, old.apu)
    assert (row.low_confidence, row.visits, row.machines) == (old.low_confidence, old.visits, old.machines)
    assert row.apu is not None
    assert row.apu.hi is not None


def _check_types_at_equal_load(queries: QueryEngine, whole: Selection, old: str, new: str) -> None:
    """Requests that are made of the loads: an old machine is full at 51 a second, a new one at 102."""
    rates = []
    for platform, a_request in ((old, 0.02), (new, 0.01)):
        only = replace(whole, matchers=parse_matchers(f'{{platform="{platform}"}}'))
        loads = [
            step.apu for step in queries.ask(CapacityQuestion(only, (None,) * _HOURS, coefficient=1.4)).rows
        ]
        rates.append(tuple(None if load is None else (load.value + 0.02) / a_request for load in loads))
    served = queries.ask(
        MachineTypesQuestion(whole, old, new, 1.0, 1.5, 1.4, MachineRates(rates[0], rates[1]))
    )
    assert served.basis == "request_rates"
    assert served.apu_because is None
    assert served.apu_ratio is not None
    assert served.apu_ratio.value == pytest.approx(2.0)
    assert served.by_apu == "new"
    of_old, of_new = (row.by_apu for row in served.rows)
    assert of_old.price.value == pytest.approx(1 / 51)
    assert of_new.price.value == pytest.approx(1.5 / 102)
    few = MachineRates(rates[0][:-1], rates[1])
    with pytest.raises(BadSelection, match=r"there are \d+ rates") as refused:
        queries.ask(MachineTypesQuestion(whole, old, new, 1.0, 1.5, 1.4, few))
    assert refused.value.parameter == "old_rates"
    none = MachineRates((None,) * _HOURS, rates[1])
    unavailable = queries.ask(MachineTypesQuestion(whole, old, new, 1.0, 1.5, 1.4, none)).because
    assert unavailable is not None
    assert unavailable.reason == "too_little"
    assert unavailable.detail.startswith(old)
