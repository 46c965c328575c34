"""GIVEN a machine's CPUs and what they do WHEN some are chosen THEN idle ones that serve the purpose, or none."""

import pytest

from fleetpb import gateway_pb2
from gateway.calibration.cpu_selection import (
    busy_shares,
    idle_core,
    idle_cpu,
    last_cache_bytes,
    nodes_of_package,
    readers,
)
from gateway.errors import CalibrationRefused
from gateway.machine.cpu_usage import CpuTimes, Reading
from gateway.machine.topology import CpuLocation, Topology
from tests.fake_sysfs import write

Refusal = gateway_pb2.CalibrateRefusal
TWO_CORES = Topology((0, 1, 2, 3), siblings=((0, 2), (1, 3)))


def caches(sys, **cpus):
    """Cache folders: sizes by level, and who shares the last."""
    for name, (sizes, shared) in cpus.items():
        folder = f"devices/system/cpu/{name}/cache"
        for index, (level, size) in enumerate(sizes):
            write(sys, f"{folder}/index{index}/level", level)
            write(sys, f"{folder}/index{index}/size", size)
            write(sys, f"{folder}/index{index}/shared_cpu_list", shared)


def test_the_core_whose_busier_thread_is_least_busy_is_taken():
    assert idle_core(TWO_CORES, frozenset(range(4)), {0: 0.0, 2: 0.15, 1: 0.1, 3: 0.05}, 0.2) == (1, 3)


@pytest.mark.parametrize(
    ("topology", "usable", "busy", "reason"),
    [
        (TWO_CORES, {0, 1, 2, 3}, {0: 0.3, 3: 0.25}, Refusal.BUSY),
        (TWO_CORES, {0, 1}, {}, Refusal.NO_SIBLINGS),
        (Topology((0, 1), siblings=((0,), (1,))), {0, 1}, {}, Refusal.NO_SIBLINGS),
        (Topology((0, 1)), {0, 1}, {}, Refusal.NO_SIBLINGS),
        (Topology((0, 1, 2, 3), siblings=((0, 1, 2, 3),)), {0, 1, 2, 3}, {}, Refusal.NO_SIBLINGS),
    ],
)
def test_without_an_idle_core_of_two_threads_there_is_none(topology, usable, busy, reason):
    with pytest.raises(CalibrationRefused) as refused:
        idle_core(topology, frozenset(usable), busy, 0.2)
    assert refused.value.reason == reason


def test_an_idle_cpu_or_none():
    assert idle_cpu((3, 1, 2), {1: 0.1, 2: 0.05, 3: 0.9}, 0.2) == 2
    with pytest.raises(CalibrationRefused) as refused:
        idle_cpu((1, 2), {1: 0.5, 2: 0.4}, 0.2)
    assert refused.value.reason == Refusal.BUSY


def test_readers_are_of_one_socket_one_a_core_and_apart_within_a_cache(tmp_path):
    locations = {cpu: CpuLocation(core=cpu % 4, package=cpu % 4 // 2) for cpu in range(8)}
    topology = Topology(tuple(range(8)), locations, tuple((cpu, cpu + 4) for cpu in range(4)))
    sizes = [(1, "32K"), (3, "8M")]
    caches(
        tmp_path,
        **{f"cpu{cpu}": (sizes, "0-1,4-5" if locations[cpu].package == 0 else "2-3,6-7") for cpu in range(8)},
    )
    everything = frozenset(range(8))
    assert readers(topology, everything, 1, {}, 0.2, sys=tmp_path) == {0: 0.0, 1: 0.5}
    assert readers(topology, everything, 5, {}, 0.2, sys=tmp_path) == {0: 0.0, 5: 0.5}
    assert readers(topology, everything - {2}, 3, {}, 0.2, sys=tmp_path) == {3: 0.0}
    # A core with a busy thread does not read, but that of the CPU that was chosen.
    assert readers(topology, everything, 1, {4: 0.3}, 0.2, sys=tmp_path) == {1: 0.0}
    assert readers(topology, everything, 1, {4: 0.1, 5: 0.3}, 0.2, sys=tmp_path) == {0: 0.0, 1: 0.5}


def test_the_numa_nodes_of_a_socket_are_those_of_its_cpus():
    locations = {
        0: CpuLocation(0, 0, 0),
        1: CpuLocation(1, 0, 1),
        2: CpuLocation(2, 1, 2),
        3: CpuLocation(3, 1, -1),
    }
    topology = Topology(tuple(locations), locations)
    assert nodes_of_package(topology, 0) == {0, 1}
    assert nodes_of_package(topology, 2) == {2}
    assert nodes_of_package(Topology((0,)), 0) == frozenset()


def test_of_many_cores_some_read_over_all_of_the_socket(tmp_path):
    count = 100
    locations = {cpu: CpuLocation(core=cpu, package=0) for cpu in range(count)}
    topology = Topology(tuple(range(count)), locations, tuple((cpu,) for cpu in range(count)))
    found = readers(topology, frozenset(range(count)), 0, {}, 0.2, sys=tmp_path)
    assert 10 <= len(found) <= 16
    assert max(found) > count - 10
    assert len(set(found.values())) == len(found)
    assert all(0 <= share < 1 for share in found.values())


@pytest.mark.parametrize(
    ("size", "wanted"), [("32768K", 32 << 20), ("8M", 8 << 20), ("512", 512), ("many", 0), ("", 0)]
)
def test_the_last_cache_is_that_of_the_highest_level(tmp_path, size, wanted):
    caches(tmp_path, cpu0=([(1, "48K"), (3, size), (2, "1024K")], "0"))
    assert last_cache_bytes(0, tmp_path) == wanted
    assert last_cache_bytes(1, tmp_path) == 0


def test_a_cpu_without_a_tick_is_idle():
    before = Reading(
        0.0, {0: CpuTimes(0, 0, 0, 0, 0, 0), 1: CpuTimes(5, 5, 5, 5, 5, 5), 2: CpuTimes(1, 1, 1, 1, 1, 1)}
    )
    after = Reading(1.0, {0: CpuTimes(1, 1, 4, 2, 1, 1), 1: CpuTimes(5, 5, 5, 5, 5, 5)})
    assert busy_shares(before, after) == {0: pytest.approx(0.4), 1: 0.0}
