"""The real daemon, asked over gRPC for a capture of everything while a known workload runs beside it."""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleetpb import capture_pb2, gateway_pb2
from tests.gateway_daemon import (
    DEADLINE_S,
    Answer,
    Daemon,
    ask,
    ends_of,
    function_starts,
    groups_where,
    plan,
    stacks_of,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted")]

LOOP = """
import json
print("busy", flush=True)
while True:
    json.loads(json.dumps([{"a": n} for n in range(300)]))
"""


@dataclass(frozen=True)
class Workload:
    binary: Path
    busy: subprocess.Popen[bytes]
    script: Path
    python: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def workload(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workload]:
    """A C program without frame pointers and a Python script, both busy."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    folder = tmp_path_factory.mktemp("workload")
    binary, script = folder / "busy-program", folder / "gateway-looper.py"
    source = Path(__file__).with_name("busy.c")
    subprocess.run([compiler, "-O2", "-fomit-frame-pointer", "-o", binary, source], check=True)
    script.write_text(LOOP)
    with (
        subprocess.Popen([binary, "600"], stdout=subprocess.PIPE) as busy,
        subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE) as python,
    ):
        try:
            for process in (busy, python):
                assert process.stdout is not None
                # Before it there are stacks of execve and of the loader, without a frame of the program.
                assert process.stdout.readline() == b"busy\n"
            yield Workload(binary, busy, script, python)
        finally:
            busy.kill()
            python.kill()


@pytest.fixture(scope="module")
def answer(daemon: Daemon, workload: Workload) -> Answer:
    """One capture of everything, for the tests that only read it."""
    with daemon.stub() as stub:
        return ask(stub, plan(seconds=2.2, rate_hz=499, counters=True, campaign="test"))


@pytest.mark.slow
def test_a_program_is_found_under_its_names_with_complete_stacks(answer: Answer, workload: Workload):
    capture = answer.capture
    groups = groups_where(capture, comm="busy-program", exe=str(workload.binary), script="")
    assert len(groups) == 1
    group = capture.groups[groups[0]]
    assert group.processes == 1
    assert capture.strings[capture.mappings[group.main_mapping - 1].path] == str(workload.binary)
    stacks = stacks_of(capture, groups)
    ends = ends_of(stacks)
    # How many there are is the scheduler's choice: others want the CPUs too.
    assert ends.total() > 0
    assert ends.total() - ends["COMPLETE"] <= max(1, 0.02 * ends.total()), ends


def test_frames_lie_in_the_functions_that_the_symbol_table_has_there(answer: Answer, workload: Workload):
    capture = answer.capture
    starts = {start: name for name, start in function_starts(workload.binary).items()}
    seen: set[str] = set()
    complete = 0
    for stack in stacks_of(capture, groups_where(capture, exe=str(workload.binary))):
        names = [
            starts.get(-1 if start is None else start, "?")
            for path, _, start, _ in stack.frames
            if path == str(workload.binary)
        ]
        seen.update(names)
        if stack.end == capture_pb2.STACK_END_COMPLETE:
            complete += 1
            assert names[-2:] == ["main", "_start"]
    assert complete
    assert {"mix", "compare", "main", "_start"} <= {name.partition(".")[0] for name in seen}
    # The linker's stubs (.plt) have an entry but no symbol.
    assert len(seen - {"?"}) >= 5


def test_only_the_leaf_and_what_a_signal_interrupted_are_exact(answer: Answer, workload: Workload):
    capture = answer.capture
    for stack in stacks_of(capture, groups_where(capture, exe=str(workload.binary))):
        user = [frame for frame in stack.frames if not frame[0].startswith("[kernel")]
        assert all(not exact for _, _, _, exact in user[-2:]) or len(user) < 3


def test_a_script_is_named_beside_its_interpreter(answer: Answer, workload: Workload):
    capture = answer.capture
    exe = str(Path(f"/proc/{workload.python.pid}/exe").readlink())
    comm = Path(f"/proc/{workload.python.pid}/comm").read_text().strip()
    groups = groups_where(capture, comm=comm, exe=exe, script="gateway-looper.py")
    assert len(groups) == 1
    ends = ends_of(stacks_of(capture, groups))
    assert ends["COMPLETE"] >= 0.95 * ends.total() > 0, ends


def test_the_control_group_is_the_processes_own(answer: Answer, workload: Workload):
    from gateway.containers.cgroup_path import choose_cgroup

    capture = answer.capture
    expected = choose_cgroup(Path(f"/proc/{workload.busy.pid}/cgroup").read_text())
    assert groups_where(capture, exe=str(workload.binary), cgroup=expected)


def test_nothing_was_lost(answer: Answer):
    capture = answer.capture
    (segment,) = capture.segments
    assert segment.support == capture_pb2.SUPPORT_OK
    assert list(segment.lost) == [0] * len(segment.cpus)
    assert len(segment.cpus) == os.cpu_count()
    assert not segment.unprivileged
    assert capture.strings[segment.event] == "cpu"
    assert capture.strings[segment.source] == "cpu-clock"
    assert capture.strings[segment.unit] == "nanoseconds"
    assert segment.period == segment.requested_period == round(1e9 / 499)


def test_samples_are_the_time_that_cpus_were_busy(answer: Answer):
    """Three different accounts of the same time: samples × period, and the kernel's ticks."""
    capture = answer.capture
    (segment,) = capture.segments
    sampled_s = segment.samples * segment.period / 1e9
    busy_s = sum((cpu.user_ms + cpu.system_ms + cpu.irq_ms) / 1000 for cpu in capture.cpus)
    assert sampled_s == pytest.approx(busy_s, rel=0.15)


def test_cpu_usage_covers_the_window(answer: Answer):
    capture = answer.capture
    window_ms = capture.window.duration_ns / 1e6
    assert window_ms >= 2200
    assert answer.end is not None
    assert answer.end.seconds == pytest.approx(2.2, rel=0.2)
    assert [cpu.cpu for cpu in capture.cpus] == sorted(capture.segments[0].cpus)
    for cpu in capture.cpus:
        total = cpu.user_ms + cpu.system_ms + cpu.idle_ms + cpu.iowait_ms + cpu.irq_ms + cpu.steal_ms
        assert total == pytest.approx(window_ms, rel=0.15)
    assert 0 < answer.end.utilisation <= 1
    assert capture.system.utilisation == answer.end.utilisation
    assert len(capture.system.load) == 3


def test_the_machine_is_described(answer: Answer, daemon: Daemon):
    machine = answer.capture.machine
    assert machine.hostname == os.uname().nodename
    assert machine.kernel_release == os.uname().release
    assert machine.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert machine.logical_cpus == os.cpu_count()
    assert machine.memory_bytes > 1 << 20
    assert dict(machine.labels) == {"rack": "b7"}
    assert {event.event: event.support for event in machine.events}["cpu"] == capture_pb2.SUPPORT_OK
    with daemon.stub() as stub:
        assert stub.Describe(gateway_pb2.DescribeRequest(), timeout=DEADLINE_S) == machine


def test_counters_have_a_value_or_a_reason(answer: Answer):
    capture = answer.capture
    software = {
        capture.strings[counter.name]: counter
        for group in capture.counters
        if group.cpu == 0
        for counter in group.counters
    }
    assert software["context-switches"].support == capture_pb2.SUPPORT_OK
    assert software["context-switches"].value > 0
    for group in capture.counters:
        for counter in group.counters:
            if counter.support != capture_pb2.SUPPORT_OK:
                assert counter.value == 0
                assert counter.errno or counter.support == capture_pb2.SUPPORT_NOT_COUNTED
            else:
                assert 0 < group.time_running_ns <= group.time_enabled_ns


def test_the_kernel_is_named_by_its_build_id_or_the_note_says_why(answer: Answer):
    capture = answer.capture
    kernel = [m for m in capture.mappings if m.kind == capture_pb2.Mapping.KERNEL]
    hidden = any("hides its addresses" in note for note in capture.notes)
    assert hidden or [m.build_id.hex() for m in kernel] == [capture.machine.kernel_build_id]


def test_kernel_threads_have_no_executable(answer: Answer):
    capture = answer.capture
    for group in capture.groups:
        if group.kernel_thread:
            assert not group.exe
            assert not group.main_mapping
            assert not group.cgroup


def test_progress_is_told_about_once_a_second(answer: Answer):
    assert len(answer.progress) >= 1
    shares = [progress.done for progress in answer.progress]
    assert shares == sorted(shares)
    assert all(0 < share <= 1 for share in shares)
    assert answer.begin is not None
    assert answer.begin.duration_ms == 2200
    assert not answer.begin.changes


def test_no_command_line_leaves_the_machine_and_the_scripts_path_only_as_a_source_file(
    answer: Answer, workload: Workload
):
    capture = answer.capture
    path = str(workload.script)
    named = {
        number for group in capture.groups for number in (group.comm, group.exe, group.script, *group.labels)
    }
    assert not any(path in capture.strings[number] for number in named)
    files = {number for excerpt in capture.excerpts for number in excerpt.file}
    assert all(number in files for number, text in enumerate(capture.strings) if path in text)


def test_turns_run_one_after_the_other_and_their_events_together(daemon: Daemon, workload: Workload):
    events = [
        gateway_pb2.EventPlan(event="cpu", rate_hz=199, duration_ms=400, stacks=True, turn=1),
        gateway_pb2.EventPlan(event="page-faults", period=1009, duration_ms=300, turn=1),
        gateway_pb2.EventPlan(event="cpu", rate_hz=99, duration_ms=200, turn=2),
    ]
    with daemon.stub() as stub:
        capture = ask(stub, plan(*events)).capture
    assert [capture.strings[segment.event] for segment in capture.segments] == ["cpu", "page-faults", "cpu"]
    first, faults, second = capture.segments
    assert abs(first.start_offset_ns - faults.start_offset_ns) < 200_000_000
    assert second.start_offset_ns >= first.start_offset_ns + first.duration_ns
    assert not second.stacks
    flat = stacks_of(capture, groups_where(capture, exe=str(workload.binary)), segment=2)
    assert flat
    assert all(len(stack.frames) == 1 for stack in flat)
    assert ends_of(flat).keys() == {"FLAT"}


def test_two_callers_at_once_get_two_captures(daemon: Daemon, workload: Workload):
    answers: list[Answer] = []

    def call() -> None:
        with daemon.stub() as stub:
            answers.append(ask(stub, plan(seconds=0.6, rate_hz=199)))

    callers = [threading.Thread(target=call) for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(DEADLINE_S)
    assert len(answers) == 2
    for answer in answers:
        assert groups_where(answer.capture, exe=str(workload.binary))
    assert not daemon.is_measuring
