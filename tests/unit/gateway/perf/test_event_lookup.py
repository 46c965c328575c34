"""GIVEN machines of other makers WHEN an event is looked for THEN it is the one that means the same there."""

import errno
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from gateway.errors import BadEventName, EventUnavailable
from gateway.perf import event_lookup
from gateway.perf.attributes import EventType
from gateway.perf.cpu_models import CHOICES, Microarchitecture, microarchitecture_of, read_microarchitecture
from gateway.perf.event_lookup import GENERIC_NAMES, find_event
from gateway.perf.event_names import parse_event_name
from gateway.perf.events import EVENTS, Event
from tests.fake_pmu_sysfs import (
    AMD_CPU,
    EPYC_7763,
    INTEL_CPU,
    SOURCES,
    XEON_8480,
    cpuinfo,
    epyc,
    sources,
    write,
    xeon,
)

Machine = tuple[Path, Path]


def found(name: str, machine: Machine) -> Event:
    sys, proc = machine
    return find_event(name, sys=sys, proc=proc, mounts=[sys / "kernel/tracing"])


def refused(name: str, machine: Machine) -> EventUnavailable:
    with pytest.raises(EventUnavailable) as reason:
        found(name, machine)
    return reason.value


@pytest.mark.parametrize(
    ("name", "source", "config"),
    [
        ("l2-misses", "cpu/event=0x24,umask=0x3f/", 0x3F24),
        ("l2-lines-in", "cpu/event=0xf1,umask=0x1f/", 0x1FF1),
        ("memory-stalls", "cpu/event=0xa3,umask=0x6,cmask=0x6/", 0x060006A3),
        ("cycles-any", "cpu/event=0x3c,any=0x1/", 0x20003C),
    ],
)
def test_on_a_skylake_xeon(tmp_path: Path, name: str, source: str, config: int):
    event = found(name, xeon(tmp_path))
    assert (event.name, event.source, event.type, event.config) == (name, source, EventType.RAW, config)
    assert event.cpus is None


def test_the_any_bit_is_gone_since_ice_lake_and_another_event_stands_for_it(tmp_path: Path):
    new = xeon(tmp_path / "new", XEON_8480)
    assert found("cycles-distributed", new).config == 0x02EC
    assert refused("cycles-any", new).support == capture_pb2.SUPPORT_UNSUPPORTED
    old = xeon(tmp_path / "old")
    assert refused("cycles-distributed", old).support == capture_pb2.SUPPORT_UNSUPPORTED


def test_misses_of_the_last_level_are_that_on_amd_too(tmp_path: Path):
    """The kernel's generic cache-misses are those of the L2 there (arch/x86/events/amd/core.c)."""
    assert found("llc-misses", epyc(tmp_path / "amd")).config == 0x4843
    assert found("l2-misses", epyc(tmp_path / "amd")).config == 0x0964
    intel = found("llc-misses", xeon(tmp_path / "intel"))
    assert (intel.type, intel.config) == (EventType.HARDWARE, 3)


def test_every_generic_event_is_one_on_some_machine_and_keeps_its_name(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(event_lookup, "probe", lambda *_, **__: 0)
    machines = [
        xeon(tmp_path / "1"),
        xeon(tmp_path / "2", XEON_8480),
        epyc(tmp_path / "3"),
        epyc(tmp_path / "4", EPYC_7763),
    ]
    for name in GENERIC_NAMES:
        events = []
        for machine in machines:
            with suppress(EventUnavailable):
                events.append(found(name, machine))
        assert events, name
        assert {event.name for event in events} == {name}
        assert len({event.unit for event in events}) == 1, "sums over machines need one unit"
        assert len({event.default_period for event in events if event.unit == "count"}) <= 1


def test_nominal_cycles_are_a_register_where_the_pmu_counts_none(tmp_path: Path, monkeypatch):
    machine = epyc(tmp_path, EPYC_7763)
    monkeypatch.setattr(event_lookup, "probe", lambda *_, **__: errno.ENOENT)
    event = found("ref-cycles", machine)
    assert (event.name, event.source, event.config, event.unit) == ("ref-cycles", "msr/mperf/", 2, "cycles")
    monkeypatch.setattr(event_lookup, "probe", lambda *_, **__: 0)
    assert found("ref-cycles", machine) == EVENTS["ref-cycles"]


def test_a_guest_without_a_pmu_says_what_is_missing(tmp_path: Path):
    guest = sources(tmp_path / "sys"), cpuinfo(tmp_path / "proc", EPYC_7763)
    reason = refused("llc-misses", guest)
    assert (reason.support, reason.errno) == (capture_pb2.SUPPORT_UNSUPPORTED, errno.ENOENT)
    assert "no event source cpu" in str(reason)
    assert found("cpu", guest).source == "cpu-clock"
    assert refused("heap", guest).errno == 0
    assert refused("tracepoint:sched:sched_switch", guest).errno == errno.ENOENT


def test_a_tracepoint_is_of_the_kernel_and_keeps_its_whole_name(tmp_path: Path):
    sys, proc = xeon(tmp_path)
    write(sys, {"kernel/tracing/events/sched/sched_switch/id": "372"})
    event = found("tracepoint:sched:sched_switch", (sys, proc))
    assert (event.type, event.config, event.in_kernel) == (EventType.TRACEPOINT, 372, True)
    assert (event.name, event.source) == ("tracepoint:sched:sched_switch", "sched:sched_switch")


@pytest.mark.parametrize(
    ("name", "config", "config1"),
    [
        ("pmu:cpu:event=0xcd,umask=1,ldlat=30", 0x1CD, 30),
        ("pmu:cpu:mem-loads", 0x1CD, 3),
        ("pmu:cpu:mem-loads,ldlat=100", 0x1CD, 100),
        ("pmu:cpu:cpu-cycles,any", 0x20003C, 0),
        ("pmu:cpu:event=1,event=2", 2, 0),
        ("pmu:cpu:event=0xb7,umask=1,offcore_rsp=0xffffffffffffffff", 0x1B7, (1 << 64) - 1),
    ],
)
def test_terms_and_named_events_of_a_source(tmp_path: Path, name: str, config: int, config1: int):
    event = found(name, xeon(tmp_path))
    assert (event.name, event.config, event.config1) == (name, config, config1)


def test_scale_unit_and_cpus_of_a_named_event(tmp_path: Path):
    event = found("pmu:uncore_imc_0:cas_count_read", xeon(tmp_path))
    assert (event.type, event.config, event.unit, event.scale) == (14, 0x304, "bytes", 64.0)
    assert event.cpus == (0, 28)
    energy = found("pmu:power:energy-pkg", xeon(tmp_path))
    assert (energy.unit, energy.scale) == ("joules", 2.0**-32)


def test_an_event_number_of_more_than_eight_bits_is_split_on_amd(tmp_path: Path):
    assert found("pmu:cpu:event=0x1a0,umask=0x1e", epyc(tmp_path)).config == 0x1_0000_1EA0


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pmu:cpu:event=0x1a0", "more than 8 bits"),
        ("pmu:cpu:rings=2", "rings"),
        ("pmu:cpu:unheard-of", "neither a term nor an event unheard-of"),
        ("pmu:gpu:x", "no event source gpu"),
    ],
)
def test_terms_that_a_source_has_not_are_named(tmp_path: Path, name: str, said: str):
    reason = refused(name, xeon(tmp_path))
    assert reason.support == capture_pb2.SUPPORT_UNSUPPORTED
    assert reason.errno == errno.ENOENT
    assert said in str(reason)


@given(damage=st.dictionaries(
    st.sampled_from(["type", "cpumask", "format/event", "format/umask", "events/cpu-cycles", "events/cpu-cycles.scale", "events/cpu-cycles.unit"]),
    st.one_of(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), st.just("9" * 5000)),
    min_size=1,
))  # fmt: skip
def test_a_sysfs_that_makes_no_sense_is_no_event(damage: dict[str, str], tmp_path_factory):
    sys = sources(tmp_path_factory.mktemp("sys"), cpu=INTEL_CPU | damage)
    for name in ("pmu:cpu:cpu-cycles,umask=0xff", "pmu:cpu:event=255"):
        with suppress(EventUnavailable):
            event = find_event(name, sys=sys)
            assert 0 <= event.config < 1 << 64
            assert event.scale > 0


def test_choices_are_terms_that_their_cpus_have(tmp_path: Path):
    for choices in CHOICES.values():
        for core, choice in choices.items():
            terms = AMD_CPU if core in {Microarchitecture.ZEN, Microarchitecture.ZEN4} else INTEL_CPU
            sys = sources(tmp_path / core.name, cpu=terms)
            assert find_event(f"pmu:cpu:{choice.terms}", sys=sys).config
            parse_event_name(f"pmu:cpu:{choice.terms}")


@pytest.mark.parametrize(
    ("vendor", "family", "model", "core"),
    [
        ("GenuineIntel", 6, 0x55, Microarchitecture.SKYLAKE), ("GenuineIntel", 6, 0x8F, Microarchitecture.GOLDEN_COVE),
        ("GenuineIntel", 6, 0x4F, Microarchitecture.HASWELL), ("GenuineIntel", 6, 0x6A, Microarchitecture.ICE_LAKE),
        ("GenuineIntel", 15, 0x55, Microarchitecture.OTHER), ("GenuineIntel", 6, 0xB6, Microarchitecture.OTHER),
        ("AuthenticAMD", 0x17, 0x31, Microarchitecture.ZEN), ("AuthenticAMD", 0x19, 0x01, Microarchitecture.ZEN),
        ("AuthenticAMD", 0x19, 0x11, Microarchitecture.ZEN4), ("AuthenticAMD", 0x19, 0xA0, Microarchitecture.ZEN4),
        ("AuthenticAMD", 0x1A, 0x02, Microarchitecture.ZEN4), ("AuthenticAMD", 0x15, 0x02, Microarchitecture.OTHER),
        ("HygonGenuine", 0x18, 0x00, Microarchitecture.ZEN), ("CentaurHauls", 6, 0x55, Microarchitecture.OTHER),
    ],
)  # fmt: skip
def test_which_line_a_cpu_is_of(vendor: str, family: int, model: int, core: Microarchitecture):
    assert microarchitecture_of(vendor, family, model) is core


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_any_cpuinfo_is_read(tmp_path_factory, text: str):
    proc = tmp_path_factory.mktemp("proc")
    (proc / "cpuinfo").write_text(text)
    assert isinstance(read_microarchitecture(proc), Microarchitecture)
    assert read_microarchitecture(proc / "none") is Microarchitecture.OTHER


def test_names_that_are_none_are_refused_before_anything_is_read(tmp_path: Path):
    with pytest.raises(BadEventName):
        find_event("pmu:../..:x", sys=tmp_path)
    assert not (tmp_path / SOURCES).exists()
