"""GIVEN a fleet's model WHEN the truth is summed THEN it is what slow loops find, and what captures draw around."""

from collections import Counter, defaultdict
from itertools import pairwise
from uuid import UUID

import numpy as np
import pytest

from fleetpb import capture_pb2, gateway_pb2
from gateway.capture.limits import Capacity, schedule
from gateway.settings import Limits
from simulation.calls import JIT
from simulation.captures import take
from simulation.catalogue import APPLICATIONS
from simulation.fleet import SLOT_S, Fleet, slot_of
from simulation.ground_truth import Wanted, truth
from simulation.machine_facts import find_event
from simulation.outcomes import Failures
from simulation.platforms import DATACENTERS, PLATFORMS
from simulation.rates import units_per_core_second
from simulation.seeded_random import generator
from simulation.stack_table import stack_table
from simulation.variants import Variant, shares
from storage.ingest.decode_capture import decode_capture
from symbolizer.demangle import demangle
from symbolizer.jit_names import parse

MONDAY_NOON = 1_763_380_800.0
SMALL = Fleet(24, seed=5, strata=4)
TINY = Fleet(9, seed=5, strata=2)


def slowly(
    fleet: Fleet, start: float, end: float, *, step: float = 50.0, event: str = "cpu"
) -> tuple[Counter, Counter]:
    """Units by application and by function's symbol (self), with a loop over moments, machines, applications."""
    applications: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for at in np.arange(start + step / 2, end, step):
        moment = fleet.at(slot_of(at))
        for machine in range(fleet.size):
            platform = int(fleet.platform[machine])
            for number, application in enumerate(APPLICATIONS):
                if not (cores := moment.cores[machine, number]):
                    continue
                units = (
                    cores
                    * step
                    * units_per_core_second(event, application, platform, float(fleet.mhz[machine]))
                )
                applications[application.name] += units
                variant = Variant(
                    bool(moment.release[machine, number] % 2),
                    bool(fleet.runs_rare[machine, number]),
                    int(moment.pressure[machine]),
                    platform,
                )
                share = shares(application, fleet.seed, variant)
                for function, own in zip(
                    stack_table(application, fleet.seed).functions, share.self, strict=True
                ):
                    made = function.image == JIT
                    name = parse(function.symbol).name if made else demangle(function.symbol)
                    functions[name] += units * own
    return applications, functions


@pytest.mark.slow
@pytest.mark.parametrize("event", ["cpu", "llc-misses"])
def test_it_is_what_a_slow_loop_finds(event):
    start, end = MONDAY_NOON + 100, MONDAY_NOON + 100 + 2.5 * SLOT_S
    found = truth(TINY, Wanted(start, end), event=event)
    applications, functions = slowly(TINY, start, end, event=event)
    assert found.applications == pytest.approx(dict(applications))
    by_symbol: Counter[str] = Counter()
    for (name, _), row in found.functions.items():
        by_symbol[name] += row.self_share * found.units
    assert by_symbol == pytest.approx({name: units for name, units in functions.items() if name in by_symbol})
    assert sum(by_symbol.values()) == pytest.approx(found.units)


def test_stretches_of_time_add_up():
    cuts = [MONDAY_NOON + 17, MONDAY_NOON + 400, MONDAY_NOON + 3000.5]
    whole = truth(SMALL, Wanted(cuts[0], cuts[2]))
    first, second = (truth(SMALL, Wanted(a, b)) for a, b in pairwise(cuts))
    assert first.core_seconds + second.core_seconds == pytest.approx(whole.core_seconds)
    for name, row in whole.functions.items():
        parts = [
            part.functions[name].self_share * part.units for part in (first, second) if name in part.functions
        ]
        assert sum(parts) == pytest.approx(row.self_share * whole.units)


def test_strata_applications_and_versions_are_parts_of_the_whole():
    start, end = MONDAY_NOON, MONDAY_NOON + 7200
    whole = truth(SMALL, Wanted(start, end))
    places = {(int(d), int(p)) for d, p in zip(SMALL.datacenter, SMALL.platform, strict=True)}
    parts = [
        truth(SMALL, Wanted(start, end, datacenter=DATACENTERS[d], platform=PLATFORMS[p].name))
        for d, p in places
    ]
    assert sum(part.units for part in parts) == pytest.approx(whole.units)
    assert sum(part.machines for part in parts) == whole.machines == SMALL.size
    checkout = truth(SMALL, Wanted(start, end, application="checkout"))
    assert checkout.units == pytest.approx(whole.applications["checkout"])
    versions = {version: units for (name, version), units in whole.versions.items() if name == "checkout"}
    assert sum(versions.values()) == pytest.approx(checkout.units)
    for version, units in versions.items():
        of_version = truth(SMALL, Wanted(start, end, application="checkout", version=version))
        assert of_version.units == pytest.approx(units)


def test_a_function_that_few_machines_run_says_how_many():
    fleet = Fleet(300, seed=7)
    found = truth(fleet, Wanted(MONDAY_NOON, MONDAY_NOON + 300, application="search-ranker"))
    rare = {name: row for (name, _), row in found.functions.items() if "Lease::Recover" in name}
    running = (fleet.base[:, 0] > 0) & fleet.runs_rare[:, 0]
    assert [row.machines for row in rare.values()] == [int(running.sum())]
    assert 0 < running.sum() < 10
    assert max(row.machines for row in found.functions.values()) == int((fleet.base[:, 0] > 0).sum())


@pytest.mark.parametrize(
    "wanted",
    [Wanted(5, 5), Wanted(0, 300, application="nothing"), Wanted(0, 300, datacenter="fra"), Wanted(300, 0)],
)
def test_a_selection_of_nothing_is_refused(wanted):
    with pytest.raises(ValueError, match=r"empty|no application|No stratum"):
        truth(SMALL, wanted)


def test_chance_to_answer_is_that_of_the_load():
    slot = slot_of(MONDAY_NOON)
    found = truth(SMALL, Wanted(slot * SLOT_S, (slot + 1) * SLOT_S), failures=Failures(0.0, 0.0, 0.0, 0.5))
    used = SMALL.at(slot).utilisation
    assert found.utilisation == pytest.approx(used.mean())
    assert found.answering == pytest.approx(np.mean(1 - 0.5 * np.clip((used - 0.2) / 0.8, 0, 1) ** 2))


@pytest.mark.slow
def test_captures_scatter_around_it():
    """Every machine is visited 40 times within one slot; means of visits must meet the truth."""
    at = float(slot_of(MONDAY_NOON) * SLOT_S + 10)
    expected = truth(TINY, Wanted(at, at + 1))
    plan = gateway_pb2.Plan(
        visit_id=bytes(16),
        events=[gateway_pb2.EventPlan(event="cpu", rate_hz=99, duration_ms=1000, stacks=True)],
    )
    rounds = 40
    totals = np.zeros(rounds)
    by_name: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(rounds))
    for number in range(rounds):
        for machine in range(TINY.size):
            planned = schedule(plan, Limits(), Capacity(int(TINY.cpus[machine]), 1e-9, 2000.0), find_event)
            visit = UUID(int=number * 1000 + machine).bytes
            random = generator(1, "visit", number, machine)
            taken = take(TINY, machine, planned, visit, at=at, random=random)
            for group, seconds in core_seconds(decode_capture(taken.packed.data)).items():
                totals[number] += seconds
                by_name[group][number] += seconds
    assert abs(totals.mean() - expected.core_seconds) < 4 * totals.std() / np.sqrt(rounds)
    for name in ("search-ranker", "checkout", "edge-proxy", "[kworker]"):
        seconds = by_name[name]
        of_application = truth(TINY, Wanted(at, at + 1, application=name)).core_seconds
        assert abs(seconds.mean() - of_application) < 4.5 * seconds.std() / np.sqrt(rounds) + 1e-9


def core_seconds(capture: capture_pb2.Capture) -> Counter[str]:
    found: Counter[str] = Counter()
    segment = capture.segments[0]
    for profile in segment.profiles:
        group = capture.groups[profile.group]
        labels = dict(zip(group.labels[::2], group.labels[1::2], strict=True))
        name = next(
            (capture.strings[labels[key]] for key in labels if capture.strings[key].endswith("/name")), ""
        )
        if group.kernel_thread:
            name = f"[{capture.strings[group.comm].partition('/')[0]}]"
        found[name] += sum(profile.count) * segment.period / 1e9
    return found
