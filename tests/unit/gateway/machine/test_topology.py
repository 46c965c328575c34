"""Where logical CPUs sit, from trees that look like /sys of other machines."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from gateway.machine.topology import UNKNOWN_LOCATION, CpuLocation, online_cpus, parse_cpu_list, read_topology
from tests.fake_sysfs import write


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0\n", [0]),
        ("0-3\n", [0, 1, 2, 3]),
        ("0-1,4,6-7\n", [0, 1, 4, 6, 7]),
        ("0 1 4\n", [0, 1, 4]),
        ("\n", []),
        ("3-1", []),
        ("0-999999999", []),
        ("a-b", []),
        ("1-", []),
        ("-1", []),
        ("1,,2", [1, 2]),
        ("²", []),
    ],
)
def test_lists_of_cpus(text: str, cpus: list[int]):
    assert parse_cpu_list(text) == cpus


@given(st.text(max_size=40) | st.text("0123456789-, ", max_size=40))
def test_any_text_is_a_list_or_none(text: str):
    found = parse_cpu_list(text)
    assert found == sorted(set(found))


def smt_machine(sys: Path, *, cores: int = 2, packages: int = 1) -> int:
    """Threads of core n are n and n + cores, as Linux numbers them on x86; the number of CPUs."""
    whole = cores * packages
    for cpu in range(2 * whole):
        core = cpu % whole
        folder = f"devices/system/cpu/cpu{cpu}/topology"
        write(sys, f"{folder}/core_id", core % cores)
        write(sys, f"{folder}/physical_package_id", core // cores)
        write(sys, f"{folder}/core_cpus_list", f"{core},{core + whole}")
    write(sys, "devices/system/cpu/online", f"0-{2 * whole - 1}")
    write(sys, "devices/system/node/online", f"0-{packages - 1}" if packages > 1 else "0")
    for node in range(packages):
        mine = range(node * cores, (node + 1) * cores)
        write(sys, f"devices/system/node/node{node}/cpulist", ",".join(f"{n},{n + whole}" for n in mine))
        write(
            sys,
            f"devices/system/node/node{node}/meminfo",
            f"Node {node} MemTotal:   65536 kB\nNode 0 MemFree: 1 kB",
        )
    return 2 * whole


def test_threads_share_a_core_also_across_packages(tmp_path: Path):
    """Core 0 exists in every package."""
    smt_machine(tmp_path, cores=2, packages=2)
    found = read_topology(online_cpus(tmp_path), tmp_path)
    assert found.siblings == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert found.locations[6] == CpuLocation(core=0, package=1, numa_node=1)
    machine = capture_pb2.Machine()
    found.put(machine)
    assert (machine.logical_cpus, machine.cores, machine.packages, machine.threads_per_core) == (8, 4, 2, 2)
    assert [list(node.cpus) for node in machine.nodes] == [[0, 1, 4, 5], [2, 3, 6, 7]]
    assert {node.memory_bytes for node in machine.nodes} == {65536 << 10}
    found.put(machine)
    assert len(machine.siblings) == 4


def test_a_thread_that_is_offline_is_no_sibling(tmp_path: Path):
    smt_machine(tmp_path)
    write(tmp_path, "devices/system/cpu/online", "0-2")
    found = read_topology(online_cpus(tmp_path), tmp_path)
    assert found.siblings == ((0, 2), (1,))
    machine = capture_pb2.Machine()
    found.put(machine)
    assert (machine.cores, machine.threads_per_core) == (2, 2)
    assert [list(each.cpus) for each in machine.siblings] == [[0, 2]]


def test_an_old_kernel_has_another_name_for_it(tmp_path: Path):
    for cpu in (0, 1):
        write(tmp_path, f"devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", "0-1")
    assert read_topology([0, 1], tmp_path).siblings == ((0, 1),)


@pytest.mark.parametrize("text", ["", "5", "nonsense", "1", "0-99999999"])
def test_nonsense_about_threads_is_not_believed(tmp_path: Path, text: str):
    write(tmp_path, "devices/system/cpu/cpu0/topology/core_cpus_list", text)
    write(tmp_path, "devices/system/cpu/cpu0/topology/core_id", "x")
    found = read_topology([0], tmp_path)
    assert found.siblings == ()
    assert found.locations == {0: UNKNOWN_LOCATION}


def test_nothing_is_known_of_an_empty_tree(tmp_path: Path):
    found = read_topology([0, 3], tmp_path)
    machine = capture_pb2.Machine()
    found.put(machine)
    assert machine.logical_cpus == 2
    assert (machine.cores, machine.packages, machine.threads_per_core, machine.numa_nodes) == (0, 0, 0, 0)


def test_this_machine_by_another_reader():
    """lscpu's source is the same; getaffinity's is not."""
    found = read_topology(online_cpus())
    machine = capture_pb2.Machine()
    found.put(machine)
    if machine.cores:
        assert sum(map(len, found.siblings)) == machine.logical_cpus
