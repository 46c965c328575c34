"""The machine over a window: read at both ends, and never more than there is."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from gateway.capture.machine_description import cpuinfo, describe, nominal_mhz
from gateway.machine import kernel_files
from gateway.machine.meminfo import meminfo, parse_meminfo
from gateway.machine.window_metrics import MachineMetrics, find_sources, put_load
from tests.fake_sysfs import cpufreq, cpuidle, write

MEMINFO = "MemTotal:  1000 kB\nMemAvailable:  250 kB\nHugePages_Total: 3\nSwapTotal: 100 kB\nSwapFree: 60 kB"


def tree(root: Path, *, cpus: int = 2) -> Path:
    """/proc and /sys in one folder, of a machine with everything."""
    write(root, "devices/system/cpu/online", f"0-{cpus - 1}")
    write(root, "devices/system/node/online", "0")
    write(root, "devices/system/node/node0/cpulist", f"0-{cpus - 1}")
    for cpu in range(cpus):
        leader = cpu - cpu % 2
        folder = f"devices/system/cpu/cpu{cpu}/topology"
        write(root, f"{folder}/core_id", leader // 2)
        write(root, f"{folder}/physical_package_id", 0)
        write(root, f"{folder}/core_cpus_list", f"{leader}-{leader + 1}")
        cpufreq(
            root, cpu, str(cpu), scaling_cur_freq=2000000, scaling_governor="schedutil", scaling_min_freq=800000,
            scaling_max_freq=3000000, scaling_driver="acpi-cpufreq", cpuinfo_min_freq=800000, cpuinfo_max_freq=3500000,
        )  # fmt: skip
        cpuidle(root, cpu, POLL=0, C1=1_000_000, C6=5_000_000)
    stat(root, *[(0, 0)] * cpus)
    write(root, "loadavg", "1.50 1.25 0.75 3/456 7890")
    write(root, "meminfo", MEMINFO)
    write(
        root,
        "pressure/cpu",
        "some avg10=12.50 avg60=0 avg300=0 total=1000\nfull avg10=0 avg60=0 avg300=0 total=0",
    )
    return root


def stat(root: Path, *cpus: tuple[int, int]) -> None:
    """User and idle ticks of each CPU."""
    lines = [f"cpu{n} {user} 0 0 {idle} 0 0 0 0 0 0" for n, (user, idle) in enumerate(cpus)]
    write(root, "stat", "\n".join(["cpu 0 0 0 0", *lines, "intr 1 2 3"]))


def test_everything_is_there_after_the_window(tmp_path: Path):
    root = tree(tmp_path)
    window = MachineMetrics(proc=root, sys=root).open_window()
    stat(root, (100, 0), (25, 75))
    for name, value in (("scaling_cur_freq", 2600000), ("scaling_governor", "performance")):
        write(root, f"devices/system/cpu/cpufreq/policy1/{name}", value)
    window.sample_frequencies()
    write(root, "devices/system/cpu/cpu1/cpuidle/state1/time", 1_000_000)
    write(root, "meminfo", MEMINFO.replace(" 250 ", " 150 "))
    write(root, "pressure/cpu", "some avg10=50.00 avg60=0 avg300=0 total=4500")
    capture = capture_pb2.Capture()
    assert window.close(capture) == pytest.approx(125 / 200)
    first, second = capture.cpus
    assert (first.cpu, first.core, first.package, first.numa_node) == (0, 0, 0, 0)
    assert (first.user_ms, first.idle_ms, second.user_ms, second.idle_ms) == (1000, 0, 250, 750)
    assert first.mhz == 2000
    assert second.mhz == pytest.approx((2000 + 2600 + 2600) / 3)
    assert (first.min_mhz, first.max_mhz) == (800, 3000)
    assert list(second.idle_state_ms) == [0, 0, 0]
    state = capture.system
    assert list(state.load) == [1.5, 1.25, 0.75]
    assert (state.tasks_runnable, state.tasks) == (3, 456)
    assert dict(state.pressure) == {"cpu": 50.0}
    assert dict(state.stalled_us) == {"cpu": 3500}
    assert state.governor == "performance,schedutil"
    assert (state.min_mhz, state.max_mhz) == (800, 3000)
    assert (state.memory_available_before_bytes, state.memory_available_bytes) == (250 << 10, 150 << 10)
    assert state.swap_used_bytes == 40 << 10
    machine = capture.machine
    assert (machine.logical_cpus, machine.cores, machine.threads_per_core) == (2, 1, 2)


def test_a_cpu_that_goes_offline_within_the_window_is_said_and_left_out(tmp_path: Path):
    root = tree(tmp_path, cpus=4)
    metrics = MachineMetrics(proc=root, sys=root)
    window = metrics.open_window()
    stat(root, (10, 0), (0, 10), (5, 5))
    write(root, "devices/system/cpu/online", "0-2")
    capture = capture_pb2.Capture()
    window.close(capture)
    assert [cpu.cpu for cpu in capture.cpus] == [0, 1, 2]
    assert capture.machine.logical_cpus == 3
    assert [list(each.cpus) for each in capture.machine.siblings] == [[0, 1]]
    assert all(not cpu.idle_state_ms for cpu in capture.cpus)
    (note,) = capture.notes
    assert "0-3, then 0-2" in note
    later = capture_pb2.Capture()
    metrics.open_window().close(later)
    assert not later.notes


def test_a_machine_of_which_nothing_can_be_read_has_nothing_in_it(tmp_path: Path):
    write(tmp_path, "stat", "cpu0 1 1 1 1")
    capture = capture_pb2.Capture()
    MachineMetrics(proc=tmp_path, sys=tmp_path).open_window().close(capture)
    state = capture.system
    assert not state.load
    assert not state.pressure
    assert not state.pressure_full
    assert not state.governor
    assert (state.memory_available_bytes, state.tasks, state.max_mhz) == (0, 0, 0)
    (cpu,) = capture.cpus
    assert (cpu.core, cpu.mhz, list(cpu.idle_state_ms)) == (-1, 0, [])


def test_a_machine_without_a_stat_file_is_no_failure(tmp_path: Path):
    capture = capture_pb2.Capture()
    assert MachineMetrics(proc=tmp_path, sys=tmp_path).open_window().close(capture) == 0
    assert not capture.cpus


@pytest.mark.parametrize(("files", "most"), [(False, 30), (True, 30 + 256 * (2 * (3 + 1) + 3))])
def test_what_256_cpus_cost_is_bounded_by_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: bool, most: int
):
    """Where there is no cpufreq and no cpuidle, a capture reads as many files as on a machine of 2 CPUs."""
    root = tree(tmp_path, cpus=256)
    if not files:
        (root / "devices/system/cpu/cpufreq").rename(root / "nowhere")
        for cpu in range(256):
            (root / f"devices/system/cpu/cpu{cpu}/cpuidle").rename(root / f"nowhere{cpu}")
    metrics = MachineMetrics(proc=root, sys=root)
    opened = 0
    real = os.open

    def count(path: str, flags: int) -> int:
        nonlocal opened
        opened += 1
        return real(path, flags)

    monkeypatch.setattr(kernel_files.os, "open", count)
    capture = capture_pb2.Capture()
    metrics.open_window().close(capture)
    assert len(capture.cpus) == 256
    assert opened <= most


def test_a_description_of_a_machine_with_everything(tmp_path: Path):
    root = tree(tmp_path)
    write(
        root,
        "cpuinfo",
        "processor : 0\nmodel name : Some CPU @ 2.30GHz\nmicrocode : 0x1\nflags : fpu\n\nprocessor : 1",
    )
    write(root, "devices/system/cpu/smt/control", "on")
    machine = describe(find_sources(proc=root, sys=root), {"rack": "b7"}, own=True, proc=root, sys=root)
    assert (machine.platform, machine.microcode, machine.virtualization) == (
        "Some CPU @ 2.30GHz",
        "0x1",
        "none",
    )
    assert (machine.nominal_mhz, machine.hardware_min_mhz, machine.hardware_max_mhz) == (2300, 800, 3500)
    assert (machine.frequency_driver, machine.smt, machine.memory_bytes) == ("acpi-cpufreq", "on", 1000 << 10)
    assert [state.name for state in machine.idle_states] == ["POLL", "C1", "C6"]
    assert [list(each.cpus) for each in machine.siblings] == [[0, 1]]


@pytest.mark.parametrize(
    ("fields", "mhz"),
    [
        ({"model name": "X CPU @ 2.30GHz", "bogomips": "5200.00"}, 2300),
        ({"model name": "X @ ", "bogomips": "5192.19"}, 2596.1),
        ({"model name": "X @ fastGHz"}, 0),
        ({"bogomips": "nan"}, 0),
        ({"bogomips": "1e300"}, 0),
        ({}, 0),
    ],
)
def test_the_nominal_frequency_by_name_or_time_stamps(tmp_path: Path, fields: dict[str, str], mhz: float):
    assert nominal_mhz(fields, find_sources(proc=tmp_path, sys=tmp_path), tmp_path) == mhz


def test_the_nominal_frequency_by_cpufreq_or_firmware_of_the_first_cpu_online(tmp_path: Path):
    write(tmp_path, "devices/system/cpu/online", "1-3")
    sources = find_sources(proc=tmp_path, sys=tmp_path)
    write(tmp_path, "devices/system/cpu/cpu1/acpi_cppc/nominal_freq", 2450)
    assert nominal_mhz({}, sources, tmp_path) == 2450
    write(tmp_path, "devices/system/cpu/cpu1/cpufreq/base_frequency", 2300000)
    assert nominal_mhz({}, sources, tmp_path) == 2300


@given(
    st.text(max_size=80)
    | st.from_regex(r"[\d.]{0,13} [\d.]{0,13} [\d.]{0,13} \d{0,11}/\d{0,11} \d", fullmatch=True)
)
def test_any_load(text: str):
    state = capture_pb2.SystemState()
    put_load(text, state)
    assert len(state.load) in {0, 3}


@given(st.text(max_size=200) | st.lists(st.sampled_from(MEMINFO.split("\n"))).map("\n".join))
def test_any_meminfo(text: str):
    assert all(0 <= value < 1 << 63 for value in parse_meminfo(text).values())


def test_memory_is_in_bytes_and_pages(tmp_path: Path):
    write(tmp_path, "meminfo", MEMINFO)
    assert meminfo(tmp_path)["MemAvailable"] == 250 << 10
    assert meminfo(tmp_path)["HugePages_Total"] == 3
    assert meminfo(tmp_path / "nowhere") == {}


@given(text=st.text(max_size=300))
def test_any_cpuinfo(tmp_path_factory: pytest.TempPathFactory, text: str):
    folder = tmp_path_factory.getbasetemp()
    (folder / "cpuinfo").write_text(text, errors="replace")
    assert all(isinstance(value, str) for value in cpuinfo(folder).values())


def test_this_machine():
    metrics = MachineMetrics(cpuinfo().get("flags", ""))
    window = metrics.open_window()
    capture = capture_pb2.Capture()
    window.close(capture)
    assert [cpu.cpu for cpu in capture.cpus] == sorted(cpu.cpu for cpu in capture.cpus)
    assert capture.machine.logical_cpus == os.cpu_count()
    assert capture.system.tasks > 1
