"""GIVEN programs on a chip WHEN their pressure grows THEN each slows down by its law, and frequency by the platform's latency."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.catalogue import APPLICATIONS, SERVICES
from simulation.contention import CUTS, mean_speed, sensitivity, slowdown
from simulation.platforms import PLATFORMS
from simulation.rates import (
    OF_INSTRUCTIONS,
    cycles_per_instruction,
    units_per_core_second,
    waiting_s,
)

PEAK = 200.0


@given(st.sampled_from(SERVICES), st.floats(0, 5e9), st.floats(0, 0.95), st.floats(0.001, 0.2))
def test_more_pressure_never_makes_anything_faster(application, lines, used, more):
    here = float(slowdown(application, lines, used * PEAK, PEAK))
    assert here >= 1.0
    assert float(slowdown(application, lines, (used + more) * PEAK, PEAK)) > here
    assert float(slowdown(application, lines + more * 1e9, used * PEAK, PEAK)) > here


def test_it_is_linear_between_the_cuts():
    application = SERVICES[3]
    for low, high, slope in ((0.0, CUTS[0], 0.3), (*CUTS, 0.6), (CUTS[1], 1.0, 1.2)):
        inside = np.linspace(low, high, 7)
        found = slowdown(application, 0.0, inside * PEAK, PEAK)
        assert np.diff(found) / np.diff(inside) == pytest.approx(slope * sensitivity(application))


@given(st.floats(0.01, 0.97))
def test_mean_speed_is_that_of_many_windows(utilisation):
    def slower(busy):
        return 1.0 + 2.0 * busy**2

    rng = np.random.default_rng(1)
    busy = rng.beta(40 * utilisation, 40 * (1 - utilisation), 40_000)
    found = mean_speed(slower, np.array([utilisation]), 40.0)
    assert found == pytest.approx((busy / slower(busy)).sum() / busy.sum(), rel=0.01)


@pytest.mark.parametrize("platform", range(len(PLATFORMS)))
def test_time_an_instruction_is_a_part_by_the_clock_and_a_part_that_is_not(platform):
    nominal = PLATFORMS[platform].nominal_mhz
    for application in APPLICATIONS:
        waiting = waiting_s(application, platform)
        for mhz in (0.5 * nominal, nominal, 1.3 * nominal):
            cpi = cycles_per_instruction(application, platform, mhz)
            assert cpi > 0
            on_chip = cpi / (mhz * 1e6) - waiting
            assert on_chip > 0, "waiting is not all of it"
            at_nominal = cycles_per_instruction(application, platform, nominal) / (nominal * 1e6) - waiting
            assert on_chip * mhz == pytest.approx(at_nominal * nominal)
            instructions = units_per_core_second("instructions", application, platform, mhz)
            assert units_per_core_second(
                "cycles", application, platform, mhz
            ) / instructions == pytest.approx(cpi)
            latency = PLATFORMS[platform].latency_ns * 1e-9
            misses = units_per_core_second("llc-misses", application, platform, mhz)
            assert misses * latency == pytest.approx(waiting * instructions)


def test_events_that_come_with_instructions_are_told_apart():
    assert {"instructions", "branches"} <= OF_INSTRUCTIONS
    assert not {"cycles", "llc-misses", "cpu", "page-faults"} & OF_INSTRUCTIONS
    with pytest.raises(ValueError, match="Unknown rate"):
        units_per_core_second("sleep", SERVICES[0], 0)
