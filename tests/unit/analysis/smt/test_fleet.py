"""GIVEN visits' machine loads WHEN clusters and applications are asked THEN nothing is lost and intervals hold the truth."""

import numpy as np
import pytest

from analysis.errors import BadShape, InsufficientData, NotANumber
from analysis.smt.fleet import of_applications, of_both, of_cluster
from analysis.smt.machine import of_counters, of_cpus
from analysis.weights import CLASSES, Weights, equal

CORES = np.array([0, 0, 1, 1])


def one_stratum(visits: int) -> tuple[np.ndarray, np.ndarray, Weights]:
    return np.ones(visits), np.zeros(visits, np.int64) * CLASSES, equal(np.array([float(visits)]))


def test_a_cluster_is_a_ratio_of_core_time() -> None:
    loads = [of_cpus(CORES, [1, 1, 1, 1], 1.4), of_cpus(np.arange(6), [0.5] * 6, 1.4)]
    found = of_cluster(*one_stratum(2), loads=loads, seconds=np.array([5.0, 10.0]))
    assert found.apu.value[0] == pytest.approx((1 * 2 * 5 + 0.5 * 6 * 10) / (2 * 5 + 6 * 10))
    assert found.visits == 2


@pytest.mark.slow
def test_a_clusters_interval_holds_the_truth() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        u = rng.beta(2, 3, (60, 4))
        loads = [of_cpus(CORES, row, 1.5) for row in u]
        found = of_cluster(*one_stratum(60), loads=loads, seconds=np.full(60, 5.0)).apu
        # E[APU] of independent threads: 2·m(1 − m)·OC/2 + m² with m = E[U] = 0.4.
        inside += found.lo[0] <= 2 * 0.4 * 0.6 * 0.75 + 0.16 <= found.hi[0]
    assert 0.9 <= inside / 200 <= 0.99


def test_applications_add_up_to_what_their_machines_use() -> None:
    rng = np.random.default_rng(2)
    loads = [of_cpus(CORES, row, 1.5) for row in rng.random((30, 4))]
    seconds = np.full(30, 5.0)
    row, visit = np.divmod(np.arange(90), 30)
    found = of_applications(
        *one_stratum(30),
        loads=loads,
        seconds=seconds,
        row=row,
        visit=visit,
        cpu_seconds=rng.random(90) + 0.01,
        rows=3,
    )
    used = sum(load.apu * load.cores * 5.0 for load in loads)
    assert found.core_seconds.sum() == pytest.approx(used)


def test_an_application_that_shares_no_core_costs_more() -> None:
    apart, together = of_cpus(CORES, [1, 0, 1, 0], 1.2), of_cpus(CORES, [1, 1, 1, 1], 1.2)
    found = of_applications(
        *one_stratum(4),
        loads=[apart, apart, together, together],
        seconds=np.full(4, 1.0),
        row=np.array([0, 0, 1, 1]),
        visit=np.arange(4),
        cpu_seconds=np.array([2.0, 2.0, 4.0, 4.0]),
        rows=2,
    )
    assert found.per_cpu_second.value == pytest.approx([0.6, 0.5])


def test_both_ways_are_of_the_same_visits() -> None:
    system = [of_cpus(np.array([0, 0]), [0.5, 0.5], 1.4), of_cpus(CORES, [1, 1, 1, 1], 1.4)]
    counted = [
        of_counters(threads=100, either=100, available=100, cores=1, coefficient=1.4),
        of_counters(threads=400, either=200, available=200, cores=2, coefficient=1.4),
    ]
    found = of_both(*one_stratum(2), counted=counted, system=system, seconds=np.array([4.0, 1.0]))
    core_s = np.array([4.0, 2.0])
    assert found.apu.value[0] == pytest.approx(([0.7, 1.0] @ core_s) / 6)
    assert found.system_apu.value[0] == pytest.approx(([0.6, 1.0] @ core_s) / 6)
    assert found.overlap.value[0] == pytest.approx(2 / 6)
    assert found.system_overlap.value[0] == pytest.approx((0.25 * 4 + 2) / 6)
    assert found.utilisation.value[0] == pytest.approx((0.5 * 4 + 2) / 6)
    assert found.thread_any.value[0] == pytest.approx(1)
    assert found.largest_disagreement == pytest.approx(0.25)
    with pytest.raises(BadShape):
        of_both(*one_stratum(2), counted=counted, system=system[:1], seconds=np.ones(2))
    with pytest.raises(InsufficientData):
        of_both(*one_stratum(0), counted=[], system=[], seconds=np.ones(0))


def test_what_cannot_be_said() -> None:
    load = of_cpus(CORES, [0.1] * 4, 1.2)
    with pytest.raises(InsufficientData):
        of_cluster(*one_stratum(0), loads=[], seconds=np.zeros(0))
    with pytest.raises(BadShape):
        of_cluster(*one_stratum(2), loads=[load], seconds=np.ones(2))
    with pytest.raises(NotANumber):
        of_cluster(*one_stratum(1), loads=[load], seconds=np.array([np.nan]))
    pair = {"row": np.zeros(1, np.int64), "visit": np.zeros(1, np.int64), "rows": 1}
    with pytest.raises(NotANumber):
        of_applications(*one_stratum(1), loads=[load], seconds=np.ones(1), cpu_seconds=np.zeros(1), **pair)
    with pytest.raises(InsufficientData):
        of_applications(*one_stratum(0), loads=[], seconds=np.ones(0), cpu_seconds=np.ones(1), **pair)
    with pytest.raises(BadShape):
        of_applications(*one_stratum(1), loads=[load], seconds=np.ones(2), cpu_seconds=np.ones(1), **pair)
    with pytest.raises(BadShape):
        of_applications(
            *one_stratum(1),
            loads=[load],
            seconds=np.ones(1),
            cpu_seconds=np.ones(1),
            **{**pair, "visit": np.ones(1, np.int64)},
        )
