"""GIVEN a machine's busy share WHEN it is spread over threads of cores THEN shares, overlap and speed are those of the law."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.smt.capacity import forecast
from simulation.core_ground_truth import REQUEST_S, core_truth
from simulation.fleet import SLOT_S, Fleet, slot_of
from simulation.ground_truth import Wanted
from simulation.platforms import KEEPS_APART, PLATFORMS
from simulation.threads import APART, Cores

NOON = 1_763_380_800.0
share = st.floats(0, 1)
layouts = st.builds(Cores, st.integers(1, 96), st.sampled_from([1, 2]), st.booleans())


@settings(deadline=None)
@given(layouts, share)
def test_shares_are_shares_and_have_the_mean(layout: Cores, busy: float) -> None:
    shares = layout.shares(busy)
    assert shares.shape == (layout.threads, layout.cores)
    assert (shares >= 0).all()
    assert (shares <= 1).all()
    assert shares.mean() == pytest.approx(busy, abs=1e-9)


@settings(deadline=None)
@given(layouts, share, st.floats(1, 3))
def test_overlap_is_possible_and_slows_down(layout: Cores, busy: float, coefficient: float) -> None:
    shares = layout.shares(busy)
    overlap = layout.overlap_of(shares)
    assert (overlap <= shares.min(axis=0) + 1e-12).all()
    assert (overlap >= np.maximum(0, shares.sum(axis=0) - 1) - 1e-12).all() or layout.threads == 1
    speed = float(layout.speed(busy, coefficient))
    assert 1 / coefficient - 1e-9 <= speed <= 1
    if busy > 0.01:
        together = float(layout.overlap(busy)) / busy
        assert speed == pytest.approx(1 - together * (1 - 1 / coefficient), abs=1e-3)


def test_kept_apart_is_less_together() -> None:
    independent, apart = Cores(8, 2, apart=False), Cores(8, 2, apart=True)
    shares = independent.shares(0.4)
    gap = independent.overlap_of(shares) - apart.overlap_of(shares)
    least = np.maximum(0, shares.sum(axis=0) - 1)
    assert gap == pytest.approx(APART * (shares.prod(axis=0) - least))
    assert independent.overlap_of(shares) == pytest.approx(shares.prod(axis=0))


def test_nobody_shares_a_core_of_one_thread() -> None:
    fleet = Fleet(20, strata=2, smt=False)
    layout = fleet.layout(0)
    assert layout.cores == fleet.cpus[0]
    assert layout.speed(0.9, 1.5) == 1
    found = core_truth(fleet, Wanted(NOON, NOON + 1))
    assert found.apu == found.utilisation == found.thread_any
    assert found.overlap == 0
    assert found.full_per_s == pytest.approx(fleet.cpus.sum() / REQUEST_S)


def test_requests_are_the_capacity_that_is_used() -> None:
    fleet = Fleet(24, strata=1)
    found = core_truth(fleet, Wanted(NOON, NOON + 3600))
    assert found.requests_per_s == pytest.approx(found.apu * found.full_per_s)
    cores = int(fleet.cpus.sum()) // 2
    assert found.full_per_s == pytest.approx(cores * 2 / PLATFORMS[0].overlap / REQUEST_S)
    assert found.utilisation < found.apu < found.thread_any


def test_the_operating_systems_way_is_wrong_where_threads_are_kept_apart() -> None:
    fleet = Fleet(40, strata=2)
    apart = set(fleet.datacenter[fleet.kernel == KEEPS_APART].tolist())
    assert apart == {1}
    for datacenter, name in ((0, "sim-fra"), (1, "sim-iad")):
        found = core_truth(fleet, Wanted(NOON, NOON + 600, datacenter=name))
        overlap = found.independent_overlap - found.overlap
        if datacenter in apart:
            assert overlap > 0.02
        else:
            assert overlap == pytest.approx(0, abs=1e-12)
        # A4 is linear in overlap: what independence costs of it, it costs of APU.
        oc = PLATFORMS[0].overlap
        assert found.apu - found.independent_apu == pytest.approx((oc - 1) * overlap)


def test_the_truth_of_cores_is_what_windows_scatter_around() -> None:
    fleet = Fleet(3, strata=1)
    slot = slot_of(NOON)
    rng = np.random.default_rng(1)
    utilisation = fleet.at(slot).utilisation
    overlaps = []
    for machine, u in enumerate(utilisation.tolist()):
        busy = rng.beta(40 * u, 40 * (1 - u), 4000)
        overlaps.append(float(fleet.layout(machine).overlap(busy).mean()))
    cores = fleet.cpus // 2
    at = slot * SLOT_S
    true = core_truth(fleet, Wanted(at, at + 1)).overlap
    assert (np.array(overlaps) @ cores) / cores.sum() == pytest.approx(true, rel=0.02)


@pytest.mark.slow
def test_requests_rise_evenly_with_apu_and_not_with_utilisation() -> None:
    """DIGEST A7, A8 without any chance: a day of one machine, its requests the truth's."""
    fleet = Fleet(8, seed=218, strata=4, services=3)
    for kept, platform in ((False, PLATFORMS[1].name), (True, PLATFORMS[2].name)):
        day = [
            core_truth(fleet, Wanted(NOON + at, NOON + at + 7200, platform=platform))
            for at in range(0, 86_400, 7200)
        ]
        rates = [step.requests_per_s for step in day]
        by_apu, by_utilisation, by_system = (
            forecast(rates, [getattr(step, name) for step in day]).limit.value / day[0].full_per_s
            for name in ("apu", "utilisation", "independent_apu")
        )
        assert by_apu == pytest.approx(1, abs=1e-3)
        assert by_utilisation > 1.08
        # Where the kernel keeps threads apart, the operating system's way forgets part of what is used.
        if kept:
            assert 1.04 < by_system < by_utilisation
        else:
            assert by_system == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    "wanted", [Wanted(5, 5), Wanted(0, 300, application="checkout"), Wanted(0, 300, version="r1")]
)
def test_what_has_no_cores_of_its_own_is_refused(wanted: Wanted) -> None:
    with pytest.raises(ValueError, match=r"empty|share cores"):
        core_truth(Fleet(9, strata=1), wanted)
