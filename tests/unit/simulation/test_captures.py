"""GIVEN a simulated machine WHEN a capture is taken THEN it is one that the collector, ingestion and symbols accept."""

from pathlib import Path
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetpb import capture_pb2, gateway_pb2
from gateway.capture.limits import Capacity, schedule
from gateway.settings import Limits
from simulation.binaries import SymbolFolder
from simulation.captures import Taken, take
from simulation.catalogue import APPLICATIONS
from simulation.fleet import Fleet, slot_of
from simulation.ground_truth import Wanted, truth
from simulation.machine_facts import clock_skew_s, describe, find_event, has_counters
from simulation.platforms import DATACENTERS
from storage.ingest.decode_capture import decode_capture
from storage.ingest.process_labels import derive
from storage.ingest.symbolized import Status
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.sources.running_kernel import RunningKernel

AT = 1_763_380_800.0
FLEET = Fleet(160, seed=7)
NAMES = {application.name for application in APPLICATIONS}


def event(
    name: str, *, rate: float = 0.0, period: int = 0, turn: int = 0, ms: int = 1000
) -> gateway_pb2.EventPlan:
    return gateway_pb2.EventPlan(
        event=name, rate_hz=rate, period=period, duration_ms=ms, stacks=True, turn=turn
    )


def taken(machine: int, *events: gateway_pb2.EventPlan, visit: UUID | None = None, seed: int = 1) -> Taken:
    wanted = events or (event("cpu", rate=99.0),)
    plan = gateway_pb2.Plan(visit_id=(visit or uuid4()).bytes, counters=True, events=wanted)
    planned = schedule(plan, Limits(), Capacity(int(FLEET.cpus[machine]), 30e-6, 2400.0), find_event)
    return take(FLEET, machine, planned, plan.visit_id, at=AT, random=np.random.default_rng(seed))


def capture(machine: int, *events: gateway_pb2.EventPlan, seed: int = 1) -> capture_pb2.Capture:
    return decode_capture(taken(machine, *events, seed=seed).packed.data)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, FLEET.size - 1), st.integers(0, 2**32), st.sampled_from([100, 1000, 5000]))
def test_it_contradicts_itself_nowhere(machine, seed, ms):
    found = taken(machine, event("cpu", rate=99.0, ms=ms), seed=seed)
    message = decode_capture(found.packed.data)
    assert found.packed.samples == message.segments[0].samples
    assert message.window.duration_ns == ms * 1_000_000
    assert found.seconds == ms / 1000
    ticks = FLEET.cpus[machine] * ms * 1e6 / message.segments[0].period
    assert message.segments[0].samples <= ticks + 1
    assert message.system.utilisation == found.utilisation


def test_it_is_the_same_for_the_same_visit():
    visit = uuid4()
    assert taken(3, visit=visit).packed == taken(3, visit=visit).packed
    assert taken(3, visit=visit, seed=2).packed != taken(3, visit=visit).packed


def test_process_groups_have_the_labels_of_the_model():
    found: set[str] = set()
    versions = set()
    moment = FLEET.at(slot_of(AT))
    number = {application.name: index for index, application in enumerate(APPLICATIONS)}
    for machine in range(0, FLEET.size, 12):
        message = capture(machine)
        for group in message.groups:
            labels = derive(message, group)
            assert labels.application in NAMES
            found.add(labels.application)
            if labels.version.startswith("r"):
                versions.add(labels.version)
                assert labels.version == f"r{moment.release[machine, number[labels.application]]}"
                assert labels.container
    assert len(found) > 35
    assert len(versions) > 20


def test_a_visit_sees_tens_of_process_groups():
    groups = [
        len(capture(machine, event("cpu", rate=99.0, ms=5000)).groups) for machine in range(0, FLEET.size, 10)
    ]
    assert 20 <= np.median(groups) <= 100


def test_cpus_are_as_busy_as_the_machine():
    for machine in (0, 50, 120):
        message = capture(machine)
        assert len(message.cpus) == FLEET.cpus[machine] == message.machine.logical_cpus
        busy = np.array([cpu.user_ms + cpu.system_ms for cpu in message.cpus])
        total = np.array([cpu.user_ms + cpu.system_ms + cpu.idle_ms for cpu in message.cpus])
        assert (np.abs(total - 1000) <= 2).all()
        assert busy.sum() / total.sum() == pytest.approx(message.system.utilisation, abs=0.003)
        assert {(cpu.core, cpu.package) for cpu in message.cpus if cpu.cpu < message.machine.cores} == {
            (cpu.core, cpu.package) for cpu in message.cpus if cpu.cpu >= message.machine.cores
        }, "two threads of each core"
        assert len({cpu.package for cpu in message.cpus}) == message.machine.packages


def test_counters_agree_with_the_load():
    for machine in range(0, FLEET.size, 20):
        message = capture(machine)
        whole = {
            message.strings[counter.name]: counter
            for reading in message.counters
            if not (reading.cgroup or reading.package)
            for counter in reading.counters
        }
        if not has_counters(FLEET, machine):
            assert whole["cycles"].support == capture_pb2.SUPPORT_UNSUPPORTED
            assert whole["page-faults"].support == capture_pb2.SUPPORT_OK
            continue
        busy = message.system.utilisation * message.machine.logical_cpus
        assert whole["cycles"].value == pytest.approx(busy * FLEET.mhz[machine] * 1e6, rel=0.01)
        assert 0.5 < whole["cycles"].value / whole["instructions"].value < 3.0
        assert whole["llc-misses"].value < whole["llc-references"].value
        of_groups = [reading for reading in message.counters if reading.cgroup]
        assert of_groups
        assert sum(reading.counters[0].value for reading in of_groups) <= whole["cycles"].value


def counted(machine: int, *events: str, cgroups: int = 0) -> capture_pb2.Capture:
    plan = gateway_pb2.Plan(
        visit_id=uuid4().bytes,
        counters=True,
        events=[event("cpu", rate=99.0)],
        counter_events=events,
        counted_cgroups=cgroups,
    )
    planned = schedule(plan, Limits(), Capacity(int(FLEET.cpus[machine]), 30e-6, 2400.0), find_event)
    packed = take(FLEET, machine, planned, plan.visit_id, at=AT, random=np.random.default_rng(1)).packed
    return decode_capture(packed.data)


def test_sockets_count_bytes_as_their_makers_tell_them():
    for machine in range(0, FLEET.size, 20):
        message = capture(machine)
        by_package: dict[int, dict[str, int]] = {}
        for reading in message.counters:
            if reading.package:
                by_package[reading.package - 1] = {
                    message.strings[counter.name]: counter.value for counter in reading.counters
                }
                assert {message.strings[counter.unit] for counter in reading.counters} == {"bytes"}
        if not has_counters(FLEET, machine):
            assert not by_package
            continue
        assert set(by_package) == set(range(message.machine.packages))
        amd = message.machine.platform.startswith("AMD")
        names = {"memory-moved"} if amd else {"memory-read", "memory-written"}
        assert all(set(values) == names for values in by_package.values())


def test_control_groups_are_counted_that_run_most_and_no_process_groups():
    machine = max(range(FLEET.size), key=lambda m: (FLEET.base[m] > 0.5).sum() * has_counters(FLEET, m))
    few, many = counted(machine), counted(machine, cgroups=12)
    assert len([reading for reading in many.counters if reading.cgroup]) > 8
    for message, most in ((few, 8), (many, 12)):
        readings = [reading for reading in message.counters if reading.cgroup]
        assert 4 < len(readings) <= most
        assert not any(reading.group for reading in message.counters)
        clocks = []
        for reading in readings:
            values = {message.strings[counter.name]: counter.value for counter in reading.counters}
            assert set(values) == {"cycles", "instructions", "task-clock"}
            clocks.append(values["task-clock"])
            hertz = values["cycles"] / (values["task-clock"] / 1e9)
            assert hertz == pytest.approx(FLEET.mhz[machine] * 1e6, rel=0.01)
            assert message.strings[reading.cgroup] in {
                message.strings[group.cgroup] for group in message.groups
            }
        assert clocks == sorted(clocks, reverse=True)


def test_cores_cycles_are_those_of_their_threads_less_what_overlaps():
    for platform, name, times in ((1, "cycles-distributed", 1), (2, "cycles-any", 2)):
        machine = int(np.flatnonzero((FLEET.platform == platform) & (FLEET.datacenter != 2))[0])
        message = capture(machine)
        whole = {
            message.strings[counter.name]: counter.value
            for reading in message.counters
            if not (reading.cgroup or reading.package)
            for counter in reading.counters
            if counter.support == capture_pb2.SUPPORT_OK
        }
        busy = message.system.utilisation
        layout = FLEET.layout(machine)
        either = whole[name] / times
        # Both added up are the time of threads; the rest of the cores' is theirs twice.
        assert (whole["cycles"] - either) / whole["cycles"] == pytest.approx(
            layout.overlap(busy) / (2 * busy), abs=1e-3
        )
        shares = (
            np.array(
                [cpu.user_ms + cpu.system_ms for cpu in sorted(message.cpus, key=lambda cpu: cpu.cpu)]
            ).reshape(2, -1)
            / 1000
        )
        # As the times of single CPUs say it, to their milliseconds.
        assert layout.overlap_of(shares).mean() == pytest.approx(layout.overlap(busy), abs=2e-3)
        nominal = message.machine.nominal_mhz
        assert whole["ref-cycles"] / whole["cycles"] == pytest.approx(nominal / FLEET.mhz[machine], rel=1e-4)
    amd = int(np.flatnonzero((FLEET.platform == 0) & (FLEET.datacenter != 2))[0])
    message = capture(amd)
    support = {
        message.strings[counter.name]: counter.support
        for reading in message.counters
        for counter in reading.counters
    }
    assert {support[name] for name in ("cycles-any", "cycles-distributed")} == {
        capture_pb2.SUPPORT_UNSUPPORTED
    }


def test_events_that_the_model_has_no_rate_of_are_not_to_be_had():
    physical = next(m for m in range(FLEET.size) if has_counters(FLEET, m))
    message = capture(physical, event("cpu", rate=99.0), event("itlb-misses", period=1000))
    assert message.segments[1].support == capture_pb2.SUPPORT_UNSUPPORTED


def test_counters_are_added_that_the_plan_asks_for():
    physical, virtual = (
        next(m for m in range(FLEET.size) if has_counters(FLEET, m) is there) for there in (True, False)
    )
    for machine, support in (
        (physical, capture_pb2.SUPPORT_OK), (virtual, capture_pb2.SUPPORT_UNSUPPORTED),
    ):  # fmt: skip
        message = counted(machine, "l2-lines-in", "cycles")
        found = [
            (message.strings[counter.name], counter.support)
            for reading in message.counters
            if not reading.cgroup
            for counter in reading.counters
        ]
        assert ("l2-lines-in", support) in found
        assert [name for name, _ in found].count("cycles") == 1
        assert "l2-lines-in" not in capture(machine).strings


def test_events_in_turn_and_unknown_ones():
    physical = next(
        m for m in range(FLEET.size) if has_counters(FLEET, m) and FLEET.at(slot_of(AT)).utilisation[m] > 0.2
    )
    virtual = next(m for m in range(FLEET.size) if not has_counters(FLEET, m))
    plan = (
        event("cpu", rate=99.0),
        event("llc-misses", period=100_000),
        event("cycles", rate=50.0, turn=1),
        event("sleep", rate=1.0, turn=1),
    )
    message = capture(physical, *plan)
    support = [segment.support for segment in message.segments]
    assert support == [capture_pb2.SUPPORT_OK] * 3 + [capture_pb2.SUPPORT_UNSUPPORTED]
    assert message.segments[2].start_offset_ns == 1_000_000_000
    assert all(segment.samples > 0 for segment in message.segments[:3])
    assert [s.support for s in capture(virtual, *plan).segments] == [
        capture_pb2.SUPPORT_OK, *[capture_pb2.SUPPORT_UNSUPPORTED] * 3,
    ]  # fmt: skip


def test_large_machines_thin_the_rate_and_say_so():
    largest = int(np.argmax(FLEET.cpus))
    segment = capture(largest, event("cpu", rate=999.0)).segments[0]
    assert segment.period > segment.requested_period
    assert segment.thinned_why


def test_some_clocks_lie():
    skews = [clock_skew_s(FLEET, machine) for machine in range(FLEET.size)]
    liar = int(np.argmax(np.abs(skews)))
    assert 0 < sum(skew != 0 for skew in skews) < 0.05 * FLEET.size
    assert abs(capture(liar).window.wall_start_ns / 1e9 - AT) == pytest.approx(abs(skews[liar]), abs=1e-3)


@pytest.mark.slow
def test_every_frame_gets_its_name_from_the_symbol_folder(tmp_path):
    folder = SymbolFolder(tmp_path / "symbols")
    source = LocalFiles(debug_roots=(tmp_path / "symbols",), kernel=RunningKernel(tmp_path))
    resolver = Resolver(source, tmp_path / "cache")
    known = truth(FLEET, Wanted(AT, AT + 1)).functions
    seen = set()
    for machine in range(0, FLEET.size, 16):
        found = taken(machine)
        folder.add(found.builds)
        resolved = resolver.resolve(decode_capture(found.packed.data))
        assert set(resolved.status.tolist()) <= {int(Status.SYMTAB)}
        seen |= {(function.name, function.binary_name) for function in resolved.functions}
    assert seen <= set(known)
    assert len(seen) > 1000
    assert {"[kernel]", "libc.so.6", "checkout", "[jit]"} <= {binary for _, binary in seen}


def test_files_are_written_once(tmp_path):
    builds = taken(0).builds
    SymbolFolder(tmp_path).add(builds)
    times = {path: path.stat().st_mtime_ns for path in Path(tmp_path).rglob("*") if path.is_file()}
    SymbolFolder(tmp_path).add(builds)
    assert times == {path: path.stat().st_mtime_ns for path in Path(tmp_path).rglob("*") if path.is_file()}
    assert len(times) == len(builds)


def test_a_machine_describes_itself_as_its_captures_do():
    for machine in (0, 80, 159):
        message = describe(FLEET, machine)
        assert capture(machine).machine == message
        assert message.hostname == FLEET.name(machine)
        assert message.hostname.startswith(DATACENTERS[FLEET.datacenter[machine]])
        assert message.logical_cpus == 2 * message.cores
