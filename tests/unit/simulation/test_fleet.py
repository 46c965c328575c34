"""GIVEN a seed WHEN a fleet is modelled THEN its machines, load and releases are as they are described."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulation.catalogue import APPLICATIONS, SERVICES, Rhythm
from simulation.fleet import SLOT_S, Fleet, rhythms, slot_of

MONDAY = slot_of(1_763_337_600)  # 2025-11-17
DAY = 86_400 // SLOT_S
FLEET = Fleet(1000, seed=7)


def test_strata_are_of_unequal_size_and_hold_all_machines():
    sizes = np.bincount(FLEET.stratum)
    assert sizes.sum() == FLEET.size
    assert len(sizes) == 8
    assert sizes.max() > 3 * sizes.min() > 0


@pytest.mark.parametrize(("machines", "strata"), [(7, 8), (10, 0), (10, 17)])
def test_numbers_that_make_no_fleet_are_refused(machines, strata):
    with pytest.raises(ValueError, match="strata"):
        Fleet(machines, strata=strata)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**7), st.lists(st.integers(0, 999), min_size=1, max_size=5, unique=True))
def test_a_machine_is_the_same_alone_and_among_all(slot, machines):
    which = np.array(machines)
    alone, among = FLEET.at(slot, which), FLEET.at(slot)
    assert (alone.cores == among.cores[which]).all()
    assert (alone.release == among.release[which]).all()
    assert (alone.utilisation == among.utilisation[which]).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**7))
def test_cores_add_up_to_the_utilisation_and_never_pass_it(slot):
    moment = FLEET.at(slot)
    assert (moment.cores >= 0).all()
    assert moment.cores.sum(axis=1) == pytest.approx(moment.utilisation * FLEET.cpus)
    assert (moment.utilisation <= 0.97).all()
    assert (np.searchsorted([0.25, 0.5, 0.75], moment.utilisation, "right") == moment.pressure).all()


def test_load_is_skewed_with_idle_and_busy_machines():
    used = np.stack([FLEET.at(MONDAY + k).utilisation for k in range(0, DAY, 12)])
    assert (used < 0.03).mean() > 0.03
    assert (used > 0.75).mean() > 0.03
    assert used.mean() > 1.1 * np.median(used)
    cores = FLEET.at(MONDAY).cores.sum(axis=0)
    assert cores[0] > 3 * cores[9] > 0, "Zipf"


def test_day_services_rest_at_night_and_batch_fills_it():
    waves = np.stack([rhythms(MONDAY + k) for k in range(DAY)])
    for datacenter in range(waves.shape[1]):
        people, batch = waves[:, datacenter, Rhythm.DAY], waves[:, datacenter, Rhythm.NIGHT]
        assert np.corrcoef(people, batch)[0, 1] < -0.8
        assert people.max() > 2 * people.min()
    assert (waves[:, :, Rhythm.FLAT] == 1.0).all()


def test_a_week_has_a_weekend():
    days = [np.mean([rhythms(MONDAY + (d * DAY) + k)[0, Rhythm.DAY] for k in range(DAY)]) for d in range(7)]
    assert np.argsort(days)[:2].tolist() in ([5, 6], [6, 5])


def test_releases_only_go_forward_and_reach_every_machine():
    checkout = [application.name for application in SERVICES].index("checkout")
    every = np.arange(FLEET.size)
    seen = np.stack([FLEET.releases(MONDAY + k, every)[:, checkout] for k in range(0, 4 * DAY, 6)])
    assert (np.diff(seen, axis=0) >= 0).all()
    assert (np.diff(seen, axis=0) <= 1).all()
    assert (seen.max(axis=1) - seen.min(axis=1) <= 1).all()
    assert (seen[-1] > seen[0]).all()


def test_what_is_never_released_has_release_0():
    without = [n for n, application in enumerate(APPLICATIONS) if not application.release_days]
    assert (FLEET.releases(MONDAY, np.arange(FLEET.size))[:, without] == 0).all()


def test_bursts_are_few_and_last_half_an_hour():
    factors = np.stack([FLEET.bursts(MONDAY + k, np.arange(FLEET.size)) for k in range(DAY)])
    assert 0.02 < (factors > 1).mean() < 0.04
    assert (factors.reshape(-1, 6, FLEET.size) == factors.reshape(-1, 6, FLEET.size)[:, :1]).all()


def test_names_say_that_it_is_simulated():
    names = [FLEET.name(machine) for machine in range(FLEET.size)]
    assert len(set(names)) == FLEET.size
    assert all(name.startswith("sim-") for name in names)
