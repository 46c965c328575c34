"""CPU time of each CPU, from the text of /proc/stat."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.machine.cpu_usage import CpuTimes, Reading, UtilisationMeter, parse_stat, read, usage
from gateway.machine.topology import CpuLocation

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
    assert [row.cpu for row in usage(before, after, {})] == [0]


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
        {1: CpuLocation(core=1, package=0, numa_node=0)},
    )
    assert (row.user_ms, row.system_ms, row.idle_ms) == (10, 20, 30)
    assert (row.iowait_ms, row.irq_ms, row.steal_ms) == (40, 50, 60)
    assert (row.core, row.package, row.numa_node, row.mhz) == (1, 0, 0, 0)


def test_a_cpu_without_a_known_place():
    (row,) = usage(reading(cpu1=(0,) * 6), reading(cpu1=(1,) * 6), {})
    assert (row.core, row.package, row.numa_node) == (-1, -1, -1)


def test_the_meter_measures_since_the_last_question():
    readings = iter(
        [
            reading(0, cpu0=(0, 0, 0, 0, 0, 0)),
            reading(10, cpu0=(500, 0, 500, 0, 0, 0)),
            reading(20, cpu0=(500, 0, 1500, 0, 0, 0)),
        ]
    )
    meter = UtilisationMeter(lambda: next(readings))
    assert meter.recent() == 0.5
    assert meter.recent() == 0


def test_the_meter_does_not_answer_with_what_was_an_hour_ago():
    readings = iter(
        [
            reading(0, cpu0=(0, 0, 0, 0, 0, 0)),
            reading(3600, cpu0=(0, 0, 360_000, 0, 0, 0)),
            reading(3600.2, cpu0=(20, 0, 360_000, 0, 0, 0)),
        ]
    )
    assert UtilisationMeter(lambda: next(readings)).recent() == 1


@pytest.mark.parametrize(
    "text",
    [
        "cpu0 1 2 3\n",
        "cpu0 1 2 x 4\n",
        "cpu0 -1 2 3 4\n",
        "cpu0\n",
        "cpux 1 2 3 4\n",
        "cpu0 1 2 3 " + "9" * 30,
    ],
)
def test_a_damaged_line_is_left_out_and_the_others_are_not(text: str):
    assert parse_stat(f"{text.strip()}\ncpu1 1 2 3 4\n") == {1: CpuTimes(3, 3, 4, 0, 0, 0)}


@given(
    st.text(max_size=400)
    | st.lists(st.sampled_from(["cpu", "cpu0", " 1", " 99999999999999999999", "\n", "-"]))
)
def test_whatever_the_file_holds_there_are_rows_or_none(text: str | list[str]):
    found = parse_stat(text if isinstance(text, str) else "".join(text))
    rows = usage(Reading(0, {cpu: CpuTimes(0, 0, 0, 0, 0, 0) for cpu in found}), Reading(1, found), {})
    assert {row.cpu for row in rows} <= found.keys()
