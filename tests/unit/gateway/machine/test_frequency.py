"""Frequencies: reported only where something measures them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.machine.frequency import Bounds, find_frequencies, parse_cpuinfo
from tests.fake_sysfs import cpufreq, write

CPUINFO = "processor\t: 0\ncpu MHz\t\t: 2400.5\n\nprocessor\t: 1\ncpu MHz\t\t: 1200.0\n\nprocessor\t: 2\ncpu MHz\t\t: 0.000"


def test_policies_may_hold_several_cpus_and_differ(tmp_path: Path):
    cpufreq(
        tmp_path, 0, "0 1", scaling_cur_freq=3100000, scaling_governor="performance", scaling_min_freq=800000,
        scaling_max_freq=3200000, scaling_driver="intel_pstate", cpuinfo_min_freq=400000, cpuinfo_max_freq=3800000,
    )  # fmt: skip
    cpufreq(tmp_path, 2, "2", scaling_cur_freq=900000, scaling_governor="powersave", cpuinfo_max_freq=4100000)
    cpufreq(tmp_path, 3, "", scaling_cur_freq=1)  # all its CPUs are offline
    found = find_frequencies("", tmp_path, tmp_path)
    assert found.read() == {0: 3100.0, 1: 3100.0, 2: 900.0}
    assert found.bounds()[1] == Bounds("performance", 800.0, 3200.0)
    assert found.bounds()[2] == Bounds("powersave", 0.0, 0.0)
    assert (found.driver, found.hardware) == ("intel_pstate", (400.0, 4100.0))


def test_the_average_of_newer_kernels_is_preferred(tmp_path: Path):
    cpufreq(tmp_path, 0, "0", scaling_cur_freq=3100000, cpuinfo_avg_freq=2500000)
    assert find_frequencies("", tmp_path, tmp_path).read() == {0: 2500.0}


def test_cpuinfo_is_believed_only_where_the_cpu_measures(tmp_path: Path):
    """Else the kernel prints what it found at boot, whatever the clock does now."""
    write(tmp_path, "cpuinfo", CPUINFO)
    assert find_frequencies("fpu aperfmperf", tmp_path, tmp_path).read() == {0: 2400.5, 1: 1200.0}
    assert find_frequencies("fpu tsc", tmp_path, tmp_path).read() == {}


@pytest.mark.parametrize("value", ["", "<unknown>", "-5", "0", "1e9", "9" * 70])
def test_a_frequency_that_is_none(tmp_path: Path, value: str):
    cpufreq(tmp_path, 0, "0", scaling_cur_freq=value)
    assert find_frequencies("", tmp_path, tmp_path).read() == {}


def test_a_policy_that_vanishes(tmp_path: Path):
    cpufreq(tmp_path, 0, "0", scaling_cur_freq=3100000)
    found = find_frequencies("", tmp_path, tmp_path)
    (tmp_path / "devices/system/cpu/cpufreq/policy0/scaling_cur_freq").unlink()
    assert found.read() == {}
    assert found.bounds() == {0: Bounds("", 0.0, 0.0)}


@given(st.text(max_size=200) | st.lists(st.sampled_from(CPUINFO.split("\n")), max_size=9).map("\n".join))
def test_any_cpuinfo(text: str):
    assert all(value > 0 for value in parse_cpuinfo(text).values())
