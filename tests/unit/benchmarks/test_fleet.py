"""GIVEN a campaign and the costs of a visit WHEN a fleet's overhead is computed THEN nothing that costs is left out."""

from dataclasses import replace

import pytest

from benchmarks.overhead.fleet import DAY_S, MACHINES, Costs, Visits, relative_halfwidth

COSTS = Costs(cpus=4, idle_s_per_s=1e-5, visit_s=0.4, kernel_s_per_sample=20e-6, samples_per_visit=2000)
VISITS = Visits(per_day=3.0 * MACHINES, seconds=5, rate_hz=99)


def test_every_cost_is_in_the_share() -> None:
    idle, visits, kernel = 1e-5 * DAY_S, 3 * 0.4, 3 * 2000 * 20e-6
    assert COSTS.share(VISITS) == pytest.approx((idle + visits + kernel) / (4 * DAY_S))


def test_more_visits_cost_more_and_tell_more() -> None:
    dense = replace(VISITS, per_day=4 * VISITS.per_day)
    assert COSTS.share(dense) > COSTS.share(VISITS)
    assert relative_halfwidth(dense, days=20) == pytest.approx(
        relative_halfwidth(VISITS, days=20) / 2, rel=0.1
    )


def test_a_function_on_few_machines_is_known_less_well() -> None:
    assert relative_halfwidth(VISITS, spread=0.1, days=20) > 1.3 * relative_halfwidth(VISITS, days=20)
