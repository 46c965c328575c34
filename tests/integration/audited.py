"""Audits of the simulated fleet against its truth: features, load tests, badges, capacity and machine types."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.smt.capacity import Capacity
from analysis.smt.served_work import ServedWork
from analysis.stability import Badge
from simulation.fleet import Fleet
from simulation.ground_truth import Wanted, truth
from storage.errors import BadSelection
from storage.query.models.apu import ApuQuestion
from storage.query.models.capacity import CapacityQuestion
from storage.query.models.feature import FeatureQuestion
from storage.query.models.load_test import LoadTestQuestion
from storage.query.models.machine_types import MachineRates, MachineTypesQuestion
from storage.query.models.no_answer import Unavailable
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
    assert found.found is not None
    assert found.saved is not None
    true = sum(share for name, share in own.items() if "a" in name)
    # Sampling errors of all functions together: the interval is honest, so twice as wide a one must hold.
    share = found.found.share
    assert 2 * share.lo - share.value <= true <= 2 * share.hi - share.value
    assert found.saved.value == pytest.approx(0.75 * share.value)
    assert sum(row.share for row in found.rows) <= share.value + 1e-9
    every = queries.ask(FeatureQuestion(whole, ".*"))
    assert every.found is not None
    assert every.found.share.value == pytest.approx(1)
    nothing = queries.ask(FeatureQuestion(whole, "^no such function$"))
    assert nothing.found is not None
    assert nothing.found.share.value == 0
    with pytest.raises(BadSelection, match="functions that the feature would affect"):
        queries.ask(FeatureQuestion(whole, ""))


def _check_badge(queries: QueryEngine, whole: Selection, own: dict[str, float]) -> None:
    found = queries.ask(StabilityQuestion(whole))
    assert found.unavailable is None
    judged = found.stability
    assert judged is not None
    assert judged.misplaced is not None
    assert judged.badge in {Badge.STEADY, Badge.FAIR, Badge.ROUGH}
    (day,) = found.days
    assert day.visits == found.totals.visits
    assert day.samples == judged.samples == found.totals.samples
    table = queries.ask(TableQuestion(whole, ("function",), Page(Sort.SELF_DESC, 10_000, 0, ""))).table
    seen: dict[str, float] = {}
    for row in table.rows:
        seen[row.key["function"]] = seen.get(row.key["function"], 0.0) + row.self_share
    misplaced = sum(abs(seen.get(name, 0.0) - own.get(name, 0.0)) for name in seen.keys() | own.keys()) / 2
    assert misplaced <= 2 * judged.misplaced.hi
    few = queries.ask(StabilityQuestion(replace(whole, matchers=parse_matchers('{application="none"}'))))
    assert few.unavailable is not None
    assert few.stability is None


def _check_load_test(queries: QueryEngine, whole: Selection) -> None:
    same = queries.ask(LoadTestQuestion(whole, whole))
    assert same.found is not None
    assert same.found.distance == pytest.approx(0)
    assert same.found.covered == pytest.approx(1)
    assert same.rows == ()
    one, others = (
        replace(whole, matchers=parse_matchers(f'{{application{operator}"search-ranker"}}'))
        for operator in ("=", "!=")
    )
    unlike = queries.ask(LoadTestQuestion(one, others))
    assert unlike.found is not None
    assert not unlike.found.representative
    assert unlike.found.covered < 1
    assert unlike.rows_total > 0
    assert all(row.lo < row.test - row.production < row.hi for row in unlike.rows)
    assert all(abs(row.test - row.production) >= 0.001 for row in unlike.rows)
    assert abs(unlike.rows[0].test - unlike.rows[0].production) >= abs(
        unlike.rows[-1].test - unlike.rows[-1].production
    )
    nobody = replace(whole, matchers=parse_matchers('{application="none"}'))
    assert queries.ask(LoadTestQuestion(nobody, whole)).unavailable is not None


def _check_capacity(queries: QueryEngine, whole: Selection) -> None:
    nothing = queries.ask(CapacityQuestion(whole, (None,) * _HOURS))
    assert nothing.unavailable is not None
    assert nothing.unavailable.reason == "too_little"
    loads = [step.utilisation for step in nothing.steps]
    known = [None if load is None else load.value for load in loads]
    assert len(known) == _HOURS
    assert all(step.apu is None for step in nothing.steps)
    # Requests that are made of the load itself: 2 % idle, 0.1 % a request; so the machines are full at 980.
    rates = tuple(None if load is None else (load - 0.02) / 0.001 for load in known)
    found = queries.ask(CapacityQuestion(whole, rates))
    assert isinstance(found.by_utilisation, Capacity)
    assert found.by_utilisation.limit.value == pytest.approx(980)
    assert found.by_utilisation.intercept == pytest.approx(0.02)
    assert isinstance(found.by_apu, Unavailable)
    assert "calibrate" in found.by_apu.detail
    assert found.unavailable is None
    # With OC 1 APU is utilisation; above, the same requests fill the cores sooner.
    alike, sooner = (queries.ask(CapacityQuestion(whole, rates, coefficient=oc)).by_apu for oc in (1.0, 1.6))
    assert isinstance(alike, Capacity)
    assert isinstance(sooner, Capacity)
    assert alike.limit.value == pytest.approx(980)
    assert sooner.limit.value < 960
    with pytest.raises(BadSelection, match="The time range has 12 steps of 3,600 s"):
        queries.ask(CapacityQuestion(whole, (1.0, 2.0)))


def _check_types(queries: QueryEngine, whole: Selection) -> None:
    loads = queries.ask(ApuQuestion(whole, "platform", 1.4)).loads
    old, new = loads[:2]
    found = queries.ask(MachineTypesQuestion(whole, old.value, new.value, 1.0, 1e-6, 1.4)).choice
    assert found is not None
    assert found.apu_ratio.value == pytest.approx(old.apu.value / new.apu.value)
    assert found.utilisation_ratio.value == pytest.approx(old.utilisation.value / new.utilisation.value)
    assert found.by_apu == found.by_utilisation == "new"
    assert not found.stress_test
    dear = queries.ask(MachineTypesQuestion(whole, old.value, new.value, 1.0, 1e6, 1.4)).choice
    assert dear is not None
    assert dear.by_apu == "old"
    _check_types_at_equal_load(queries, whole, old.value, new.value)
    gone = queries.ask(MachineTypesQuestion(whole, old.value, "Z80", 1.0, 1.0, 1.4))
    assert gone.unavailable is not None
    assert "Z80" in gone.unavailable.detail
    assert gone.old == old
    assert np.isfinite(gone.old.apu.hi)


def _check_types_at_equal_load(queries: QueryEngine, whole: Selection, old: str, new: str) -> None:
    """Requests that are made of the loads: an old machine is full at 51 a second, a new one at 102."""
    rates = []
    for platform, a_request in ((old, 0.02), (new, 0.01)):
        only = replace(whole, matchers=parse_matchers(f'{{platform="{platform}"}}'))
        loads = [
            step.apu for step in queries.ask(CapacityQuestion(only, (None,) * _HOURS, coefficient=1.4)).steps
        ]
        rates.append(tuple(None if load is None else (load.value + 0.02) / a_request for load in loads))
    served = queries.ask(
        MachineTypesQuestion(whole, old, new, 1.0, 1.5, 1.4, MachineRates(rates[0], rates[1]))
    )
    assert served.choice is None
    assert served.served is not None
    by_apu = served.served.by_apu
    assert isinstance(by_apu, ServedWork)
    assert by_apu.ratio.value == pytest.approx(2.0)
    assert by_apu.advice == "new"
    assert by_apu.old_price.value == pytest.approx(1 / 51)
    assert by_apu.new_price.value == pytest.approx(1.5 / 102)
    few = MachineRates(rates[0][:-1], rates[1])
    with pytest.raises(BadSelection, match=r"there are \d+ rates") as refused:
        queries.ask(MachineTypesQuestion(whole, old, new, 1.0, 1.5, 1.4, few))
    assert refused.value.parameter == "old_rates"
    none = MachineRates((None,) * _HOURS, rates[1])
    unavailable = queries.ask(MachineTypesQuestion(whole, old, new, 1.0, 1.5, 1.4, none)).unavailable
    assert unavailable is not None
    assert unavailable.reason == "too_little"
    assert unavailable.detail.startswith(old)
