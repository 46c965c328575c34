"""Events that count no time, and counters, from a program that runs to the answer of a question.

A real gateway samples this machine, the collector brings the capture home, a worker ingests it, and the query
engine answers.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, select

from collector import by_hand
from collector.schedule_round import ScheduledVisit
from collector.visit import Visitor
from fleetpb import capture_pb2, gateway_pb2
from gateway.perf.cgroup_hierarchy import perf_hierarchy
from services.queries import local_queries
from storage import inventory
from storage.archive import Archive
from storage.campaigns import Counted, EventPlan
from storage.errors import BadSelection
from storage.ingest.decode_capture import decode_capture
from storage.inventory import NewMachine
from storage.query.answers.table import TableAnswer
from storage.schema import capture_counter, capture_segment, dim_value
from symbolizer.identity import ImageIdentity
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.sources.running_kernel import RunningKernel
from symbolizer.sources.source import Found, Missing
from symbolizer.worker.ingestion import Ingester
from tests.gateway_daemon import (
    PROGRAM,
    Daemon,
    StackOf,
    ask,
    groups_where,
    plan,
    running,
    stacks_of,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted"), pytest.mark.timeout(180)]

# Each round makes and drops some hundred pages and gives up its CPU: faults and switches without end, at a pace
# that a busy machine slows down but does not stop.
FAULTER = """
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
__attribute__((noinline)) static void touch_pages(char *at) { for (int i = 0; i < 256; i++) at[i * 4096] = 1; }
__attribute__((noinline)) static void give_way(void) { usleep(100); }
int main(void) {
    for (;;) {
        char *at = mmap(0, 256 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        touch_pages(at);
        munmap(at, 256 * 4096);
        give_way();
    }
}
"""
# tracefs is mounted for the gateway alone, in a mount namespace of its own.
WITH_TRACEFS = (
    "unshare", "-m", "sh", "-c",
    'grep -q " /sys/kernel/tracing tracefs" /proc/mounts || mount -t tracefs tracefs /sys/kernel/tracing; exec "$@"',
    "sh", *PROGRAM,
)  # fmt: skip
SWITCH = "tracepoint:sched:sched_switch"
ATTEMPTS = 20


class OnlyTheFaulter(LocalFiles):
    """Symbols of one program: those of all that runs on this machine take half a minute to build."""

    def executable(self, identity: ImageIdentity) -> Found | Missing:
        return (
            super().executable(identity) if identity.name == "faulter" else Missing("It is not asked about.")
        )


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A path short enough for sockets."""
    made = Path(tempfile.mkdtemp(prefix="fpev-", dir="/tmp"))
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def faulter(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    (folder / "faulter.c").write_text(FAULTER)
    subprocess.run(
        [compiler, "-O1", "-fomit-frame-pointer", "-o", folder / "faulter", folder / "faulter.c"], check=True
    )
    with subprocess.Popen([folder / "faulter"]) as process:
        yield process
        process.kill()


@pytest.fixture(scope="module")
def daemon(folder: Path) -> Iterator[Daemon]:
    traced = subprocess.run([*WITH_TRACEFS[:6], "test", "-d", "/sys/kernel/tracing/events"], check=False)
    program = PROGRAM if traced.returncode else WITH_TRACEFS
    allowed = [
        part for pattern in ("generic", "tracepoint:*", "pmu:*") for part in ("--allow-event", pattern)
    ]
    with running(folder, *allowed, program=program) as started:
        yield started


def can_trace() -> bool:
    """Whether a tracepoint can be had at all: by root, in a kernel with tracefs."""
    found = subprocess.run([*WITH_TRACEFS[:6], "test", "-d", "/sys/kernel/tracing/events/sched"], check=False)
    return found.returncode == 0


def sampled(seconds: float, *names: str) -> list[gateway_pb2.EventPlan]:
    return [
        gateway_pb2.EventPlan(event=name, duration_ms=round(seconds * 1000), stacks=True) for name in names
    ]


def segments_of(capture: capture_pb2.Capture, name: str) -> list[int]:
    return [n for n, each in enumerate(capture.segments) if capture.strings[each.event] == name]


def fault_count() -> int:
    """Faults of this machine since it started, as the kernel counts them elsewhere."""
    lines = Path("/proc/vmstat").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("pgfault "))


@pytest.mark.slow
@pytest.mark.usefixtures("faulter")
def test_faults_are_attributed_to_the_function_that_faults_and_add_up(daemon: Daemon, folder: Path):
    with daemon.stub() as stub:
        for _ in range(ATTEMPTS):
            before = fault_count()
            capture = ask(stub, plan(*sampled(1.0, "page-faults"))).capture
            happened = fault_count() - before
            if faulter_units(capture, folder, "page-faults"):
                break
    numbers = segments_of(capture, "page-faults")
    estimate = 0
    for number in numbers:
        segment = capture.segments[number]
        assert capture.strings[segment.unit] == "count"
        assert segment.support == capture_pb2.SUPPORT_OK
        assert segment.period % 97 == 0, "the gateway's own period, or a multiple of it"
        assert segment.time_running_ns == segment.time_enabled_ns > 0
        estimate += segment.samples * segment.period
    longest = max(capture.segments[number].period for number in numbers)
    assert 0 < estimate <= happened + longest * os.cpu_count()
    groups = groups_where(capture, exe=str(folder / "faulter"))
    stacks = [stack for number in numbers for stack in stacks_of(capture, groups, number)]
    assert stacks, "256 pages a round are several samples each"


@pytest.mark.usefixtures("faulter")
def test_a_storm_of_events_is_thinned_and_what_was_lost_is_known(daemon: Daemon):
    """Every single fault with its stack is more than the gateway may cost."""
    every = gateway_pb2.EventPlan(event="page-faults", period=1, duration_ms=1500, stacks=True)
    with daemon.stub() as stub:
        for _ in range(ATTEMPTS):
            capture = ask(stub, plan(every)).capture
            periods = [capture.segments[number].period for number in segments_of(capture, "page-faults")]
            if len(periods) > 1:
                break
    assert len(periods) > 1
    assert periods == sorted(periods)
    thinned = capture.segments[segments_of(capture, "page-faults")[1]]
    assert thinned.requested_period == 1
    assert "samples per second and CPU" in capture.strings[thinned.thinned_why]


@pytest.mark.usefixtures("faulter")
def test_a_switch_has_the_stack_of_who_stops_running(daemon: Daemon, folder: Path):
    found: list[StackOf] = []
    with daemon.stub() as stub:
        for _ in range(ATTEMPTS):
            capture = ask(stub, plan(*sampled(0.5, "context-switches"))).capture
            groups = groups_where(capture, exe=str(folder / "faulter"))
            for number in segments_of(capture, "context-switches"):
                found += stacks_of(capture, groups, number)
            if found:
                break
    assert found
    paths = {path for stack in found for path, *_ in stack.frames}
    assert str(folder / "faulter") in paths
    assert "[kernel]" in paths, "it stops in the kernel, below the function that sleeps"


@pytest.mark.usefixtures("faulter")
def test_events_together_and_one_that_is_not_there(daemon: Daemon):
    wanted = sampled(1.0, "cpu", "context-switches", SWITCH, "cycles", "tracepoint:no:such")
    with daemon.stub() as stub:
        capture = ask(stub, plan(*wanted)).capture
    support = {
        capture.strings[segment.event]: capture_pb2.Support.Name(segment.support).removeprefix("SUPPORT_")
        for segment in capture.segments
    }
    assert support["cpu"] == support["context-switches"] == "OK"
    assert support["tracepoint:no:such"] == "UNSUPPORTED"
    for segment in capture.segments:
        if segment.support != capture_pb2.SUPPORT_OK:
            assert not segment.profiles
            assert segment.samples == 0
            assert segment.errno
    if can_trace():
        assert support[SWITCH] == "OK"
        (traced, *_) = segments_of(capture, SWITCH)
        assert capture.segments[traced].samples > 0
        assert capture.strings[capture.segments[traced].source] == "sched:sched_switch"
    assert any("no such tracepoint" in note or "not mounted" in note for note in capture.notes)


def test_a_plan_with_no_event_that_is_there_is_refused_with_the_reason(daemon: Daemon):
    with daemon.stub() as stub:
        refusal = ask(stub, plan(*sampled(0.1, "pmu:no-such-source:x"))).refusal
    assert refusal is not None
    assert refusal.reason == gateway_pb2.Refusal.UNSUPPORTED
    assert "no event source no-such-source" in refusal.message


@contextmanager
def control_group(name: str, process: int) -> Iterator[str]:
    """A control group with one process in it, by its path. The process must have ended at the end."""
    hierarchy = perf_hierarchy()
    if hierarchy is None or not os.access(hierarchy.mount, os.W_OK):
        pytest.skip("no control group can be made here")
    home = hierarchy.mount / name
    try:
        home.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        (home / "cgroup.procs").write_text(str(process))
        yield f"/{name}"
    finally:
        home.rmdir()


def cpu_ns(pid: int) -> int:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_a_control_group_is_counted_for_itself(daemon: Daemon):
    with (
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) as spinner,
        control_group(f"fleetprof-test-{os.getpid()}", spinner.pid) as path,
        daemon.stub() as stub,
    ):
        try:
            for _ in range(ATTEMPTS):
                before = cpu_ns(spinner.pid)
                capture = ask(stub, plan(seconds=2.0, rate_hz=199, counters=True, counted_cgroups=4)).capture
                spent = cpu_ns(spinner.pid) - before
                readings = [group for group in capture.counters if capture.strings[group.cgroup] == path]
                if readings:
                    break
        finally:
            spinner.kill()
            spinner.wait()
    (reading,) = readings
    clock = {capture.strings[counter.name]: counter for counter in reading.counters}["task-clock"]
    assert capture.strings[clock.unit] == "nanoseconds"
    assert clock.support == capture_pb2.SUPPORT_OK
    tick = 2 * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert 0 < clock.value <= spent + tick
    assert reading.time_running_ns == reading.time_enabled_ns
    assert clock.value <= 1.05 * reading.time_running_ns + 1_000_000
    assert reading.time_running_ns <= capture.window.duration_ns * len(capture.cpus)


def visit(
    engine: Engine, archive: Archive, events: Sequence[EventPlan]
) -> tuple[ScheduledVisit, capture_pb2.Capture]:
    """As `fleetprof visit here` does it, up to the archive."""
    visitor = Visitor()
    scheduled = by_hand.schedule(engine, "here", visitor)
    visited = asyncio.run(
        by_hand.run_visit(
            engine,
            archive,
            visitor,
            scheduled,
            events=events,
            counted=Counted(("tsc",), 2),
            on_progress=lambda _done, _samples: None,
        )
    )
    assert visited.received is not None, visited.detail
    return scheduled, decode_capture(visited.received.blob)


def faulter_units(capture: capture_pb2.Capture, folder: Path, event: str) -> int:
    """Samples × period of the program that faults."""
    groups = set(groups_where(capture, exe=str(folder / "faulter")))
    return sum(
        sum(profile.count) * capture.segments[number].period
        for number in segments_of(capture, event)
        for profile in capture.segments[number].profiles
        if profile.group in groups
    )


@pytest.mark.slow
@pytest.mark.usefixtures("faulter")
def test_page_faults_ingest_in_their_unit_and_what_is_not_there_as_that(
    daemon: Daemon, folder: Path, engine, database_url: str, tmp_path: Path
):
    """From `fleetprof visit --event` to the table that it prints."""
    events = [
        EventPlan("page-faults", 1500),
        EventPlan("context-switches", 1500),
        EventPlan("llc-misses", 1500),
        EventPlan(SWITCH, 1500, period=13),
    ]
    archive = Archive(str(tmp_path / "archive"))
    with engine.begin() as connection:
        inventory.add(connection, NewMachine("here", daemon.target), replace=True)
    needed = ("page-faults", SWITCH) if can_trace() else ("page-faults",)
    for _ in range(ATTEMPTS):
        scheduled, contributions = visit(engine, archive, events)
        if all(faulter_units(contributions, folder, name) for name in needed):
            break
    source = OnlyTheFaulter(debug_roots=(tmp_path,), kernel=RunningKernel(tmp_path))
    assert Ingester(engine, archive, Resolver(source, tmp_path / "symbols")).ingest(scheduled.visit_id)
    with engine.connect() as connection:
        segments = connection.execute(select(capture_segment)).all()
        counters = connection.execute(select(capture_counter)).all()
        applications = set(connection.scalars(select(dim_value.c.value)))
    assert "faulter" in applications
    by_event = {row.event: row for row in segments}
    faults = by_event["page-faults"]
    assert (faults.status, faults.sample_type_id is not None) == ("ok", True)
    assert faults.samples > 0
    assert faults.seconds > 0
    missing = by_event["llc-misses"]
    if missing.status != "ok":
        assert (missing.sample_type_id, missing.samples, missing.seconds) == (None, 0, 0.0)
        assert missing.errno
    counted = {row.name: row for row in counters}
    assert counted["page-faults"].scaled == counted["page-faults"].value > 0
    assert counted["page-faults"].cpus >= 1
    assert counted["page-faults"].unit == "count"
    for name in ("cycles", "tsc"):
        assert counted[name].status == "ok" or counted[name].value is None

    def asked(event: str) -> TableAnswer:
        moment = scheduled.visit.drawn_at
        return local_queries.hottest_functions(
            database_url,
            event=event,
            since=moment.isoformat(),
            until=(moment + timedelta(microseconds=1)).isoformat(),
            select='{application="faulter"}',
            campaign=scheduled.campaign.name,
            rows=50,
        )

    table = asked("page-faults")
    expected = faulter_units(contributions, folder, "page-faults")
    assert table.selection.unit == "count"
    assert table.totals.units == expected > 0
    assert table.totals.seconds is None
    assert "touch_pages" in {row.key.get("function") for row in table.rows}
    if can_trace():
        traced = asked(SWITCH)
        assert traced.totals.samples > 0
        assert traced.selection.unit == "count"
    if missing.status != "ok":
        with pytest.raises(BadSelection, match="Unknown event 'llc-misses'"):
            asked("llc-misses")
