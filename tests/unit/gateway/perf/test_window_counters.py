"""GIVEN a server WHEN a window is counted THEN every standing counter has its answer, by CPU, socket and control group."""

import os
from collections import defaultdict
from pathlib import Path

import pytest

from fleetpb import capture_pb2
from gateway.perf import event_lookup
from gateway.perf.descriptors import descriptors_for_events
from gateway.perf.uncore import READ, TRANSFERRED, WRITTEN
from gateway.perf.window_counters import STANDING, WindowCounters
from tests.fake_perf import FakeKernel
from tests.fake_pmu_sysfs import EPYC_7763, XEON_8480, cpuinfo, epyc, sources, write, xeon

Machine = tuple[Path, Path]
CPUS = (0, 1, 28, 29)


def sockets(machine: Machine) -> Machine:
    """Two sockets, of CPUs below 28 and from there on."""
    for cpu in CPUS:
        package = {"topology/physical_package_id": str(cpu // 28), "cache/index3/id": str(cpu // 28)}
        write(machine[0] / f"devices/system/cpu/cpu{cpu}", package)
    return machine


class Window:
    """What was read, by name."""

    def __init__(self, counters: WindowCounters) -> None:
        self.strings = [""]
        self.groups = counters.read(self.text)
        self.found: defaultdict[str, list[tuple[capture_pb2.CounterGroup, capture_pb2.Counter]]] = (
            defaultdict(list)
        )
        for group in self.groups:
            for counter in group.counters:
                self.found[self.strings[counter.name]].append((group, counter))

    def text(self, value: str) -> int:
        if value not in self.strings:
            self.strings.append(value)
        return self.strings.index(value)

    def places(self, name: str) -> list[tuple[int, int]]:
        """(CPU, socket + 1) of each answer."""
        return [(group.cpu, group.package) for group, _ in self.found[name]]

    def support(self, name: str) -> set[int]:
        return {counter.support for _, counter in self.found[name]}


def opened(machine: Machine, kernel: FakeKernel, *requested: str) -> WindowCounters:
    sys, proc = machine
    return WindowCounters(CPUS, requested, sys=sys, proc=proc, kernel=kernel)


@pytest.mark.parametrize("fields", [None, XEON_8480])
def test_a_xeon_answers_all_but_the_event_of_the_other_generation(tmp_path: Path, fields):
    machine = sockets(xeon(tmp_path, fields) if fields else xeon(tmp_path))
    with opened(machine, kernel := FakeKernel(), "l2-lines-in", "pmu:uncore_imc_0:clockticks") as counters:
        window = Window(counters)
    missing = "cycles-any" if fields else "cycles-distributed"
    for names in (*STANDING, ("l2-lines-in",)):
        for name in names:
            if name == missing:
                assert window.support(name) == {capture_pb2.SUPPORT_UNSUPPORTED}
            else:
                assert window.places(name) == [(cpu, 0) for cpu in CPUS], name
    assert window.places("pmu:uncore_imc_0:clockticks") == [(-1, 1), (-1, 2)]
    for name, unit in (
        (READ, "bytes"),
        (WRITTEN, "bytes"),
        ("energy-package", "joules"),
        ("energy-memory", "joules"),
    ):
        assert window.places(name) == [(-1, 1), (-1, 2)]
        assert {window.strings[counter.unit] for _, counter in window.found[name]} == {unit}
    # Two controllers a socket are one figure, each line of 64 bytes.
    assert {counter.scale for _, counter in window.found[READ]} == {64.0}
    assert {counter.value for _, counter in window.found[READ]} == {2 * 0x304 * 1000}
    assert TRANSFERRED not in window.found
    assert not kernel.open_now


def test_counters_divided_by_each_other_are_read_together(tmp_path: Path):
    with opened(sockets(epyc(tmp_path)), FakeKernel(), "l2-misses") as counters:
        window = Window(counters)
    together = [{window.strings[counter.name] for counter in group.counters} for group in window.groups]
    for pair in (
        {"cycles", "instructions", "ref-cycles"},
        {"llc-references", "llc-misses"},
        {"branches", "branch-misses"},
    ):
        assert pair in together
    assert {"l2-misses"} in together


def test_an_epyc_before_zen_4_takes_its_nominal_cycles_from_a_register(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(event_lookup, "probe", lambda *_, **__: 2)
    machine = sockets(epyc(tmp_path, EPYC_7763))
    with opened(machine, FakeKernel()) as counters:
        window = Window(counters)
    (_, counter), *_ = window.found["ref-cycles"]
    assert window.strings[counter.source] == "msr/mperf/"


def test_where_no_controller_is_shown_the_caches_monitor_says_what_moved(tmp_path: Path):
    machine = sockets((sources(tmp_path / "sys"), cpuinfo(tmp_path / "proc", EPYC_7763)))
    monitor = machine[0] / "fs/resctrl/mon_data"
    write(monitor, {"mon_L3_00/mbm_total_bytes": "1000", "mon_L3_01/mbm_total_bytes": "50"})
    with opened(machine, FakeKernel()) as counters:
        write(monitor, {"mon_L3_00/mbm_total_bytes": "4000", "mon_L3_01/mbm_total_bytes": "Unavailable"})
        window = Window(counters)
    ((group, counter),) = window.found[TRANSFERRED]
    assert (group.package, counter.value, window.strings[counter.unit]) == (1, 3000, "bytes")
    assert group.time_enabled_ns == group.time_running_ns > 0


def test_a_guest_without_anything_still_counts_what_the_kernel_does(tmp_path: Path):
    machine = sources(tmp_path / "sys"), cpuinfo(tmp_path / "proc", EPYC_7763)
    kernel = FakeKernel(missing={0: 2, 1: 2, 9: 2, 5: 2})
    with opened(machine, kernel) as counters:
        window = Window(counters)
    assert window.support("llc-misses") == {capture_pb2.SUPPORT_UNSUPPORTED}
    assert window.support(TRANSFERRED) == {capture_pb2.SUPPORT_UNSUPPORTED}
    assert window.places("llc-misses") == [(-1, 0)]
    assert window.support("context-switches") == {capture_pb2.SUPPORT_OK}


def a_proc(folder: Path, mount: Path, groups: dict[int, str]) -> Path:
    """A /proc with these processes in these control groups."""
    files = {f"{pid}/cgroup": f"0::{path}" for pid, path in groups.items()}
    write(folder, files | {"self/mounts": f"cgroup2 {mount} cgroup2 rw 0 0"})
    for path in groups.values():
        (mount / path.lstrip("/")).mkdir(parents=True, exist_ok=True)
    return cpuinfo(folder, EPYC_7763)


def test_the_control_groups_that_ran_most_are_counted_none_inside_another(tmp_path: Path):
    groups = {1: "/", 10: "/pods/a", 11: "/pods/a/side", 12: "/pods/b", 13: "/pods/b", 14: "/pods/c"}
    proc = a_proc(tmp_path / "proc", tmp_path / "cgroup", groups)
    kernel = FakeKernel()
    with opened((sources(tmp_path / "sys"), proc), kernel) as counters:
        # b has most by its two processes; a and what is in it cannot both be; 99 has ended.
        said = counters.count_cgroups({1: 900, 10: 50, 11: 70, 12: 40, 13: 40, 14: 5, 99: 500}, 2)
        window = Window(counters)
    assert said == []
    counted = [window.strings[group.cgroup] for group, _ in window.found["task-clock"]]
    assert counted == ["/pods/b", "/pods/a/side"]
    assert not kernel.open_now


def test_a_control_group_named_with_any_bytes_is_counted_and_can_be_sent(tmp_path: Path):
    proc = a_proc(tmp_path / "proc", tmp_path / "cgroup", {10: "/x"})
    (proc / "10/cgroup").write_bytes(b"0::/a\xff\n")
    (tmp_path / "cgroup" / os.fsdecode(b"a\xff")).mkdir()
    with opened((sources(tmp_path / "sys"), proc), FakeKernel()) as counters:
        assert counters.count_cgroups({10: 1}, 1) == []
        window = Window(counters)
    capture = capture_pb2.Capture(strings=window.strings)
    assert {capture.strings[group.cgroup] for group, _ in window.found["task-clock"]} == {"/a\ufffd"}


def test_samplers_keep_their_descriptors_whatever_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gateway.perf.descriptors.raise_descriptor_limit", lambda: 1024)
    assert descriptors_for_events(2) == 384
    proc = a_proc(tmp_path / "proc", tmp_path / "cgroup", {10: "/pods/a", 11: "/pods/b"})
    kernel = FakeKernel(counters=8)
    machine = sources(tmp_path / "sys"), proc
    with opened(machine, kernel) as counters:
        standing = len(kernel.open_now)
    for most in (0, standing - 1, standing, standing + 13, 1000):
        with WindowCounters(CPUS, sys=machine[0], proc=proc, kernel=kernel, most=most) as counters:
            said = counters.count_cgroups({10: 2, 11: 1}, 2)
            assert len(kernel.open_now) <= most
            counted = {group.cgroup for group in Window(counters).groups if group.cgroup}
            assert len(counted) == (2 if most == 1000 else 1 if most == standing + 13 else 0)
            assert bool(said) == (len(counted) < 2)


def test_without_a_hierarchy_that_is_said(tmp_path: Path):
    with opened((sources(tmp_path / "sys"), cpuinfo(tmp_path / "proc", EPYC_7763)), FakeKernel()) as counters:
        (said,) = counters.count_cgroups({1: 1}, 4)
    assert "not counted" in said
