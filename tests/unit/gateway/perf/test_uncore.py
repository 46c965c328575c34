"""GIVEN a server's sockets WHEN their counters are looked for THEN memory traffic is in bytes and energy in joules."""

from pathlib import Path

from gateway.perf.uncore import READ, TRANSFERRED, WRITTEN, uncore_groups
from tests.fake_pmu_sysfs import (
    DF,
    EPYC_7763,
    IMC,
    IMC_IN_HALVES,
    POWER,
    XEON_6148,
    cpuinfo,
    epyc,
    sources,
    xeon,
)


def test_a_xeon_counts_lines_of_each_memory_controller(tmp_path: Path):
    *memory, energy = uncore_groups(*xeon(tmp_path))
    assert [tuple(event.name for event in group) for group in memory] == [(READ, WRITTEN)] * 2
    assert [group[0].type for group in memory] == [14, 15]
    for read, written in memory:
        assert (read.config, written.config) == (0x304, 0xC04)
        assert {(event.unit, event.scale, event.cpus) for event in (read, written)} == {
            ("bytes", 64.0, (0, 28))
        }
    assert [(event.name, event.unit, event.scale) for event in energy] == [
        ("energy-package", "joules", 2.0**-32), ("energy-memory", "joules", 2.0**-16),
    ]  # fmt: skip


def test_a_granite_rapids_counts_both_halves_of_a_controller(tmp_path: Path):
    sys = sources(tmp_path / "sys", uncore_imc_3=IMC_IN_HALVES, uncore_imc_free_running_0=IMC)
    groups = uncore_groups(sys, cpuinfo(tmp_path / "proc", XEON_6148))
    assert [[(event.name, event.config) for event in group] for group in groups] == [
        [(READ, 0xCF05), (WRITTEN, 0xF005)], [(READ, 0xCF06), (WRITTEN, 0xF006)],
    ]  # fmt: skip


def test_an_epyc_of_zen_4_counts_at_the_memory_controller_not_at_the_fabric(tmp_path: Path):
    *memory, energy = uncore_groups(*epyc(tmp_path))
    assert [[(event.name, event.config) for event in group] for group in memory] == [
        [(READ, 0x10A), (WRITTEN, 0x20A)]
    ] * 2  # fmt: skip
    assert {event.scale for group in memory for event in group} == {64.0}
    assert [event.name for event in energy] == ["energy-package"]


def test_an_epyc_before_that_counts_at_the_fabric_each_channel_for_itself(tmp_path: Path):
    """The fabric has four counters and eight channels."""
    proc = cpuinfo(tmp_path / "proc", EPYC_7763)
    groups = uncore_groups(sources(tmp_path / "sys", amd_df=DF), proc)
    assert [[(event.name, event.config) for event in group] for group in groups] == [
        [(TRANSFERRED, config)]
        for config in (
            0x3807,
            0x3847,
            0x3887,
            0x38C7,
            0x1_0000_3807,
            0x1_0000_3847,
            0x1_0000_3887,
            0x1_0000_38C7,
        )
    ]


def test_a_fabric_whose_encoding_is_not_known_is_left_alone(tmp_path: Path):
    sys, proc = epyc(tmp_path)
    bare = sources(tmp_path / "bare", amd_df=DF)
    assert uncore_groups(bare, proc) == []
    assert len(uncore_groups(sys, proc)) == 3


def test_a_guest_has_none_and_a_driver_that_makes_no_sense_is_passed_over(tmp_path: Path):
    assert uncore_groups(tmp_path / "none") == []
    sys = sources(
        tmp_path / "sys",
        uncore_imc_0=IMC | {"cpumask": "every"},
        power=POWER | {"events/energy-pkg.scale": "0"},
    )
    assert [[event.name for event in group] for group in uncore_groups(sys)] == [["energy-memory"]]
