"""GIVEN a machine of the model WHEN windows are drawn THEN counters, pressure and CPI are those that the truth says."""

import numpy as np
import pytest

from simulation.catalogue import APPLICATIONS
from simulation.fleet import SLOT_S, Fleet, slot_of
from simulation.ground_truth import Wanted, cycles_per_instruction, truth
from simulation.rates import units_per_core_second
from simulation.window import draw

NOON = 1_763_380_800.0
FLEET = Fleet(9, seed=5, strata=2)


@pytest.mark.slow
def test_truth_is_what_windows_scatter_around():
    slot = slot_of(NOON)
    at = float(slot * SLOT_S)
    rng = np.random.default_rng(3)
    names = ("cycles", "instructions", "llc-misses")
    found = dict.fromkeys(names, 0.0)
    without_pressure = 0.0
    rounds = 60
    for machine in range(FLEET.size):
        for _ in range(rounds):
            window = draw(FLEET, machine, at, rng)
            for name in names:
                found[name] += float(window.cores @ window.rates(name)) / rounds
            without_pressure += float(window.cores @ alone(machine, [g.application for g in window.groups]))
    true = {name: truth(FLEET, Wanted(at, at + 1), event=name).units for name in names}
    assert found == pytest.approx(true, rel=0.05)
    # What runs scatters; how much pressure slows it down is known much better.
    moment = FLEET.at(slot)
    expected = sum(
        float(moment.cores[machine] @ alone(machine, range(len(APPLICATIONS))))
        for machine in range(FLEET.size)
    )
    slower = found["instructions"] / (without_pressure / rounds)
    assert slower < 0.99
    assert slower == pytest.approx(true["instructions"] / expected, rel=0.005)


def alone(machine: int, applications) -> np.ndarray:
    platform, mhz = int(FLEET.platform[machine]), float(FLEET.mhz[machine])
    return np.array(
        [units_per_core_second("instructions", APPLICATIONS[a], platform, mhz) for a in applications]
    )


def test_pressure_is_the_sum_of_what_runs_on_a_chip():
    rng = np.random.default_rng(1)
    for machine in range(FLEET.size):
        window = draw(FLEET, machine, NOON, rng)
        pressure = window.pressure()
        assert pressure.lines >= 0
        # 64 bytes come for each line, and some go.
        assert 64e-9 * pressure.lines <= pressure.gigabytes <= 2 * 64e-9 * pressure.lines


@pytest.mark.slow
def test_dedicated_machines_run_one_service_and_its_cpi_alone_is_known():
    fleet = Fleet(60, seed=7, strata=1, dedicated=0.3)
    services = (fleet.base[:, : fleet.services] > 0).sum(axis=1)
    assert (services[fleet.is_dedicated] == 1).all()
    assert 0.1 < fleet.is_dedicated.mean() < 0.5
    at = slot_of(NOON) * SLOT_S
    alone = cycles_per_instruction(fleet, Wanted(at, at + 1, alone=True))
    mixed = cycles_per_instruction(fleet, Wanted(at, at + 1))
    for application in APPLICATIONS[: fleet.services]:
        if application.name in alone:
            assert alone[application.name] > 0.8 * application.cpi
            assert mixed[application.name] > 0.8 * application.cpi


def test_a_fleet_of_few_services_runs_no_others():
    fleet = Fleet(40, strata=1, services=3)
    assert not fleet.base[:, 3:28].any()
    assert fleet.base[:, :3].any(axis=1)[~fleet.is_idle].all()
    with pytest.raises(ValueError, match="services"):
        Fleet(40, services=0)
    with pytest.raises(ValueError, match="only one service"):
        truth(Fleet(9, strata=1, dedicated=0.0), Wanted(NOON, NOON + 1, alone=True))


def test_slowed_machines_have_fewer_cycles_a_second():
    fleet = Fleet(200, strata=1)
    assert set(np.unique(fleet.mhz).tolist()) == {0.8 * 2450.0, 2450.0}
    slow = int(np.flatnonzero(fleet.is_slowed & ~fleet.is_idle)[0])
    window = draw(fleet, slow, NOON, np.random.default_rng(0))
    assert window.rates("cycles") == pytest.approx(0.8 * 2450e6)
