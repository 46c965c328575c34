"""CPU time and the machine's state from the text of /proc and /sys."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.machine import meminfo
from gateway.system import parse_pressure, read_state
from gateway.topology import Place, frequencies, online_cpus, parse_cpu_list, topology
from gateway.usage import CpuTimes, Reading, UtilisationMeter, parse_stat, read, usage

STAT = """\
cpu  30 2 13 300 4 0 3 7 5 0
cpu0 10 1 5 100 2 0 1 3 5 0
cpu3 20 1 8 200 2 0 2 4 0 0
intr 4821 0 9 0
ctxt 123
"""


def test_times_of_each_cpu():
    """Guests (the ninth number) are in user already, softirq counts as irq, nice as user."""
    assert parse_stat(STAT) == {
        0: CpuTimes(user=11, system=5, idle=100, iowait=2, irq=1, steal=3),
        3: CpuTimes(user=21, system=8, idle=200, iowait=2, irq=2, steal=4),
    }


def test_an_old_kernel_has_fewer_numbers():
    assert parse_stat("cpu0 1 2 3 4\n") == {0: CpuTimes(3, 3, 4, 0, 0, 0)}


def test_only_the_cpus_of_the_file_are_read(tmp_path: Path):
    (tmp_path / "stat").write_text(STAT)
    assert read(tmp_path).cpus == parse_stat(STAT)


def reading(at: float = 0.0, **cpus: tuple[int, int, int, int, int, int]) -> Reading:
    return Reading(at, {int(name[3:]): CpuTimes(*ticks) for name, ticks in cpus.items()})


def test_utilisation_is_the_share_that_was_not_idle():
    before = reading(cpu0=(0, 0, 0, 0, 0, 0), cpu1=(50, 0, 50, 0, 0, 0))
    after = reading(cpu0=(20, 10, 60, 5, 0, 5), cpu1=(50, 0, 150, 0, 0, 0))
    assert after.utilisation_since(before) == pytest.approx(35 / 200)


def test_a_cpu_that_came_or_went_is_left_out():
    before = reading(cpu0=(0, 0, 0, 0, 0, 0), cpu1=(0, 0, 0, 0, 0, 0))
    after = reading(cpu0=(10, 0, 10, 0, 0, 0), cpu2=(99, 0, 0, 0, 0, 0))
    assert after.utilisation_since(before) == 0.5
    assert [row.cpu for row in usage(before, after, {}, {})] == [0]


@given(st.lists(st.tuples(*[st.integers(0, 1 << 40)] * 12), min_size=1, max_size=4))
def test_utilisation_is_a_share_whatever_the_kernel_counts(rows: list[tuple[int, ...]]):
    """iowait and idle are known to run backwards."""
    before = Reading(0, {number: CpuTimes(*row[:6]) for number, row in enumerate(rows)})
    after = Reading(1, {number: CpuTimes(*row[6:]) for number, row in enumerate(rows)})
    assert 0 <= after.utilisation_since(before) <= 1


def test_usage_is_in_milliseconds_with_the_place_of_each_cpu():
    (row,) = usage(
        reading(cpu1=(0, 0, 0, 0, 0, 0)),
        reading(cpu1=(1, 2, 3, 4, 5, 6)),
        {1: 2400.5},
        {1: Place(core=1, package=0, numa_node=0)},
    )
    assert (row.user_ms, row.system_ms, row.idle_ms) == (10, 20, 30)
    assert (row.iowait_ms, row.irq_ms, row.steal_ms) == (40, 50, 60)
    assert (row.core, row.package, row.numa_node, row.mhz) == (1, 0, 0, 2400.5)


def test_a_cpu_without_a_known_place():
    (row,) = usage(reading(cpu1=(0,) * 6), reading(cpu1=(1,) * 6), {}, {})
    assert (row.core, row.package, row.numa_node, row.mhz) == (-1, -1, -1, 0)


def test_the_meter_measures_since_the_last_question():
    readings = iter(
        [
            reading(0, cpu0=(0, 0, 0, 0, 0, 0)),
            reading(10, cpu0=(500, 0, 500, 0, 0, 0)),
            reading(20, cpu0=(500, 0, 1500, 0, 0, 0)),
        ]
    )
    meter = UtilisationMeter(lambda: next(readings))
    assert meter.lately() == 0.5
    assert meter.lately() == 0


def test_the_meter_does_not_answer_with_what_was_an_hour_ago():
    readings = iter(
        [
            reading(0, cpu0=(0, 0, 0, 0, 0, 0)),
            reading(3600, cpu0=(0, 0, 360_000, 0, 0, 0)),
            reading(3600.2, cpu0=(20, 0, 360_000, 0, 0, 0)),
        ]
    )
    assert UtilisationMeter(lambda: next(readings)).lately() == 1


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("0\n", [0]), ("0-3\n", [0, 1, 2, 3]), ("0-1,4,6-7\n", [0, 1, 4, 6, 7]), ("\n", [])],
)
def test_lists_of_cpus(text: str, cpus: list[int]):
    assert parse_cpu_list(text) == cpus


def test_places_are_read_from_sys(tmp_path: Path):
    for cpu, core in ((0, 0), (1, 0), (2, 4)):
        folder = tmp_path / f"devices/system/cpu/cpu{cpu}"
        (folder / "topology").mkdir(parents=True)
        (folder / "topology/core_id").write_text(f"{core}\n")
        (folder / "topology/physical_package_id").write_text("1\n")
    (tmp_path / "devices/system/cpu/cpu2/node3").mkdir()
    (tmp_path / "devices/system/cpu/online").write_text("0-2\n")
    assert online_cpus(tmp_path) == [0, 1, 2]
    assert topology([0, 2, 9], tmp_path) == {0: Place(0, 1, -1), 2: Place(4, 1, 3), 9: Place(-1, -1, -1)}


def test_frequencies_are_of_cpufreq_or_else_of_cpuinfo(tmp_path: Path):
    proc, sys = tmp_path / "proc", tmp_path / "sys"
    proc.mkdir()
    assert frequencies([0, 1], proc, sys) == {}
    (proc / "cpuinfo").write_text(
        "processor\t: 0\ncpu MHz\t\t: 2400.5\n\nprocessor\t: 1\ncpu MHz\t\t: 1200.0\n"
    )
    assert frequencies([0, 1], proc, sys) == {0: 2400.5, 1: 1200.0}
    folder = sys / "devices/system/cpu/cpu0/cpufreq"
    folder.mkdir(parents=True)
    (folder / "scaling_cur_freq").write_text("3100000\n")
    assert frequencies([0, 1], proc, sys) == {0: 3100.0}


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("some avg10=1.53 avg60=0.87 avg300=0.73 total=100\nfull avg10=0.00 avg60=0 total=0\n", 1.53),
        ("full avg10=9.00 total=0\n", None),
        ("", None),
    ],
)
def test_pressure(text: str, share: float | None):
    assert parse_pressure(text) == share


def test_a_state_of_which_nothing_can_be_read_has_nothing_in_it(tmp_path: Path):
    state = read_state(0.25, proc=tmp_path, sys=tmp_path)
    assert state.utilisation == 0.25
    assert not state.load
    assert not state.pressure
    assert not state.governor
    assert state.memory_available_bytes == 0


def test_the_state_is_read_from_proc(tmp_path: Path):
    (tmp_path / "loadavg").write_text("1.50 1.25 0.75 3/456 7890\n")
    (tmp_path / "meminfo").write_text("MemTotal:  1000 kB\nMemAvailable:  250 kB\nHugePages_Total: 3\n")
    (tmp_path / "pressure").mkdir()
    (tmp_path / "pressure/cpu").write_text("some avg10=12.50 avg60=0 avg300=0 total=1\n")
    state = read_state(0.5, proc=tmp_path, sys=tmp_path)
    assert list(state.load) == [1.5, 1.25, 0.75]
    assert dict(state.pressure) == {"cpu": 12.5}
    assert state.memory_available_bytes == 250 * 1024
    assert meminfo(tmp_path)["HugePages_Total"] == 3
