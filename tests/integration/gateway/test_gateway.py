"""The real daemon, asked for captures over gRPC while a known workload runs beside it."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from fleetpb import capture_pb2, gateway_pb2
from tests.gateway_daemon import (
    DEADLINE_S,
    PROGRAM,
    ROOT,
    Answer,
    Daemon,
    ask,
    command,
    ends_of,
    function_starts,
    groups_where,
    plan,
    require_perf_events,
    running,
    stacks_of,
    wait_until,
)

pytestmark = pytest.mark.integration

LOOP = """
import json
while True:
    json.loads(json.dumps([{"a": n} for n in range(300)]))
"""
Refusal = gateway_pb2.Refusal


@dataclass(frozen=True)
class Workload:
    binary: Path
    busy: subprocess.Popen[bytes]
    script: Path
    python: subprocess.Popen[bytes]


@pytest.fixture(scope="module", autouse=True)
def _permitted() -> None:
    require_perf_events()


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
        subprocess.Popen([binary, "600"]) as busy,
        subprocess.Popen([sys.executable, script]) as python,
    ):
        try:
            yield Workload(binary, busy, script, python)
        finally:
            busy.kill()
            python.kill()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running(tmp_path_factory.mktemp("gateway"), "--label", "rack=b7") as started:
        yield started


@pytest.fixture(scope="module")
def answer(daemon: Daemon, workload: Workload) -> Answer:
    """One capture of everything, for the tests that only read it."""
    with daemon.stub() as stub:
        return ask(stub, plan(seconds=2.2, rate_hz=499, counters=True, campaign="test"))


def open_perf_events(daemon: Daemon) -> bool:
    return daemon.perf_descriptors > 0


def wait_until_closed(daemon: Daemon) -> None:
    wait_until("perf events are closed", lambda: not open_perf_events(daemon))


# What a capture holds


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
    from gateway.containers.control_group import control_group

    capture = answer.capture
    expected = control_group(Path(f"/proc/{workload.busy.pid}/cgroup").read_text())
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


def test_no_command_line_and_no_path_of_the_script_leaves_the_machine(answer: Answer, workload: Workload):
    assert str(workload.script) not in answer.capture.strings


# Plans


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


def test_an_unknown_event_beside_a_known_one_is_a_segment_that_says_so(daemon: Daemon):
    events = [
        gateway_pb2.EventPlan(event="cpu", rate_hz=99, duration_ms=200, stacks=True),
        gateway_pb2.EventPlan(event="heap", period=1, duration_ms=200),
    ]
    with daemon.stub() as stub:
        capture = ask(stub, plan(*events)).capture
    verdicts = {capture.strings[segment.event]: segment.support for segment in capture.segments}
    assert verdicts == {"cpu": capture_pb2.SUPPORT_OK, "heap": capture_pb2.SUPPORT_UNSUPPORTED}
    assert any("heap" in note for note in capture.notes)


def test_a_plan_of_unknown_events_is_refused(daemon: Daemon):
    with daemon.stub() as stub:
        refusal = ask(stub, plan(gateway_pb2.EventPlan(event="heap", period=1, duration_ms=200))).refusal
    assert refusal is not None
    assert refusal.reason == Refusal.UNSUPPORTED
    assert "heap" in refusal.message


def test_a_visit_is_served_once(daemon: Daemon):
    visit = uuid.uuid4().bytes
    with daemon.stub() as stub:
        assert ask(stub, plan(seconds=0.1, visit_id=visit)).capture.visit_id == visit
        again = ask(stub, plan(seconds=0.1, visit_id=visit)).refusal
    assert again is not None
    assert again.reason == Refusal.REPEATED


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        (plan(visit_id=b"short"), "visit_id"),
        (gateway_pb2.Plan(visit_id=bytes(16)), "events"),
        (plan(stack_bytes=1001), "stack_bytes"),
        (plan(max_depth=100_000), "max_depth"),
        (plan(seconds=0), "duration_ms"),
        (plan(rate_hz=float("nan")), "rate_hz"),
        (plan(rate_hz=-1), "rate_hz"),
        (plan(gateway_pb2.EventPlan(event="page-faults", rate_hz=99, duration_ms=100)), "period"),
    ],
)
def test_a_plan_without_sense_is_refused_by_the_name_of_its_field(
    daemon: Daemon, wanted: gateway_pb2.Plan, field: str
):
    with daemon.stub() as stub:
        refusal = ask(stub, wanted).refusal
    assert refusal is not None
    assert refusal.reason == Refusal.INVALID
    assert field in refusal.message


def test_a_plan_whose_turn_comes_too_late_is_void(daemon: Daemon):
    with daemon.stub() as stub:
        stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S)
        # Each of them measures for 0.2 s, one after the other. When the second is answered all the others
        # are there, and the plan waits behind those that have no thread yet.
        waiting = [stub.Health.future(gateway_pb2.HealthRequest(), timeout=DEADLINE_S) for _ in range(16)]
        for call in waiting[:2]:
            call.result()
        refusal = ask(stub, plan(ttl_ms=1)).refusal
        for call in waiting:
            call.result()
    assert refusal is not None
    assert refusal.reason == Refusal.EXPIRED


def test_a_rate_above_the_cap_is_thinned_by_a_whole_factor_and_said_so(tmp_path: Path):
    with running(tmp_path, "--max-rate-hz", "100") as capped, capped.stub() as stub:
        answer = ask(stub, plan(rate_hz=7000, seconds=0.3))
    capture = answer.capture
    segment = capture.segments[0]
    assert segment.requested_period == round(1e9 / 7000)
    assert segment.period == 70 * segment.requested_period
    why = capture.strings[segment.thinned_why]
    assert "100 per second" in why
    assert answer.begin is not None
    assert any(why in change for change in answer.begin.changes)
    assert any(why in note for note in capture.notes)


def test_a_window_above_the_cap_is_shortened_and_said_so(tmp_path: Path):
    with running(tmp_path, "--max-seconds", "0.3") as short, short.stub() as stub:
        answer = ask(stub, plan(seconds=20))
    assert answer.begin is not None
    assert answer.begin.duration_ms == 300
    assert "shortened" in answer.begin.changes[0]
    assert answer.capture.window.duration_ns < 5e9


# Who asks, and goes away


def test_more_captures_than_allowed_are_refused_with_the_utilisation(tmp_path: Path):
    with running(tmp_path, "--max-concurrent", "1") as single, single.stub() as stub:
        first = stub.Capture(plan(seconds=20), timeout=DEADLINE_S)
        assert next(first).WhichOneof("reply") == "begin"
        visit = uuid.uuid4().bytes
        refusal = ask(stub, plan(visit_id=visit)).refusal
        assert refusal is not None
        assert refusal.reason == Refusal.TOO_MANY
        assert 0 < refusal.utilisation <= 1
        assert stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S).active_captures == 1
        first.cancel()
        wait_until_closed(single)
        # It may come again, as it was not served.
        wait_until(
            "the place is free",
            lambda: not stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S).active_captures,
        )
        assert ask(stub, plan(seconds=0.1, visit_id=visit)).capture.visit_id == visit


def test_a_cleaner_of_old_files_does_not_end_its_service(tmp_path: Path):
    # A socket's path has at most 107 bytes, which leaves no room for pytest's.
    with TemporaryDirectory() as cleaned:
        program = ("/usr/bin/env", f"TMPDIR={cleaned}", *PROGRAM)
        with running(tmp_path, "--idle-seconds", "0.2", program=program) as daemon:
            wait_until("the server has ended", lambda: daemon.server is None)
            (folder,) = Path(cleaned).iterdir()
            shutil.rmtree(folder)
            with daemon.stub() as stub:
                health = stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S, wait_for_ready=True)
                assert health.format == 1


def test_nothing_is_open_before_the_first_call_and_after_a_capture(tmp_path: Path):
    with running(tmp_path, "--idle-seconds", "0.4") as idle:
        assert not open_perf_events(idle)
        with idle.stub() as stub:
            stream = stub.Capture(plan(seconds=0.8), timeout=DEADLINE_S)
            assert next(stream).WhichOneof("reply") == "begin"
            wait_until("perf events are open", lambda: open_perf_events(idle))
            assert [reply.WhichOneof("reply") for reply in stream][-1] == "end"
            assert not open_perf_events(idle)
        wait_until("the server has ended", lambda: idle.server is None)
        assert len(list(Path(f"/proc/{idle.process.pid}/task").iterdir())) == 1
        # Whoever calls next starts it, and a visit that an earlier server took stays taken.
        visit = uuid.uuid4().bytes
        with idle.stub() as stub:
            assert ask(stub, plan(seconds=0.1, visit_id=visit)).end
        wait_until("the server has ended again", lambda: idle.server is None)
        with idle.stub() as stub:
            refusal = ask(stub, plan(visit_id=visit)).refusal
        assert refusal is not None
        assert refusal.reason == Refusal.REPEATED


def test_a_cancelled_capture_is_closed_and_the_next_one_works(daemon: Daemon):
    with daemon.stub() as stub:
        stream = stub.Capture(plan(seconds=20), timeout=DEADLINE_S)
        next(stream)
        wait_until("perf events are open", lambda: open_perf_events(daemon))
        stream.cancel()
        wait_until_closed(daemon)
        assert ask(stub, plan(seconds=0.2)).capture.segments[0].samples


CALLER = """
import sys
import grpc
from fleetpb import gateway_pb2, gateway_pb2_grpc
stub = gateway_pb2_grpc.GatewayStub(grpc.insecure_channel(sys.argv[1]))
event = gateway_pb2.EventPlan(event="cpu", rate_hz=99, duration_ms=50000, stacks=True)
for reply in stub.Capture(gateway_pb2.Plan(visit_id=bytes.fromhex(sys.argv[2]), events=[event])):
    print(reply.WhichOneof("reply"), flush=True)
"""


def test_a_caller_that_is_killed_leaves_nothing_open(daemon: Daemon):
    with subprocess.Popen(
        [sys.executable, "-c", CALLER, daemon.target, uuid.uuid4().hex], stdout=subprocess.PIPE, cwd=ROOT
    ) as caller:
        assert caller.stdout is not None
        assert caller.stdout.readline() == b"begin\n"
        wait_until("perf events are open", lambda: open_perf_events(daemon))
        caller.kill()
    wait_until_closed(daemon)
    with daemon.stub() as stub:
        assert ask(stub, plan(seconds=0.2)).end


def test_bytes_that_are_not_grpc_do_no_harm(daemon: Daemon):
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(daemon.target.removeprefix("unix:"))
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n" + os.urandom(4096))
    with daemon.stub() as stub:
        assert ask(stub, plan(seconds=0.1)).end


# The process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_capture_with_a_refusal_and_the_daemon_with_0(tmp_path: Path, number: signal.Signals):
    with running(tmp_path) as stopped, stopped.stub() as stub:
        stream = stub.Capture(plan(seconds=20), timeout=DEADLINE_S)
        next(stream)
        wait_until("perf events are open", lambda: open_perf_events(stopped))
        stopped.process.send_signal(number)
        last = list(stream)[-1]
        assert last.refusal.reason == Refusal.FAILED
        assert "stopped" in last.refusal.message
        assert stopped.process.wait(DEADLINE_S) == 0
    assert not (tmp_path / "gateway.sock").exists()


def test_a_killed_daemon_takes_its_server_along(tmp_path: Path):
    with running(tmp_path) as killed:
        server = killed.server
        assert server is not None
        killed.process.kill()
        killed.process.wait(DEADLINE_S)
        wait_until("the server has ended", lambda: not Path(f"/proc/{server}").exists())


def test_a_killed_server_is_replaced(tmp_path: Path):
    with running(tmp_path) as daemon:
        first = daemon.server
        assert first is not None
        os.kill(first, signal.SIGKILL)
        wait_until("it is gone", lambda: daemon.server != first)
        with daemon.stub() as stub:
            assert ask(stub, plan(seconds=0.1)).end
        assert "server died" in daemon.log.read_text()


def test_the_socket_is_the_owners_alone(daemon: Daemon):
    assert stat.S_IMODE(Path(daemon.target.removeprefix("unix:")).stat().st_mode) == 0o600


def refused(*options: str) -> str:
    """What the daemon says when it does not start."""
    ended = subprocess.run(
        command(*options), cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    assert ended.returncode == 1, ended
    assert "Traceback" not in ended.stderr
    (line,) = ended.stderr.strip().splitlines()
    return line


def test_a_second_daemon_on_the_same_socket_refuses(daemon: Daemon):
    assert "another process listens" in refused("--listen", daemon.target)
    with daemon.stub() as stub:
        assert stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S).format == 1


def test_the_socket_of_a_killed_daemon_is_replaced(tmp_path: Path):
    with running(tmp_path) as killed:
        killed.process.kill()
        killed.process.wait(DEADLINE_S)
    assert (tmp_path / "gateway.sock").exists()
    with running(tmp_path) as next_one, next_one.stub() as stub:
        assert stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S).format == 1


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path):
    precious = tmp_path / "precious"
    precious.write_text("data")
    assert "not a socket" in refused("--listen", f"unix:{precious}")
    assert precious.read_text() == "data"


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path):
    tmp_path.chmod(0o777)
    assert "chmod go-w" in refused("--listen", f"unix:{tmp_path}/gateway.sock")


def test_an_address_of_the_network_needs_tls():
    message = refused("--listen", "0.0.0.0:0")
    assert "mutual TLS" in message
    assert "--tls-cert" in message


def test_certificates_that_make_no_sense_keep_it_from_starting(tmp_path: Path):
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("no certificate")
    ended = subprocess.run(
        command(
            *("--listen", "127.0.0.1:0", "--tls-cert", str(nonsense)),
            *("--tls-key", str(nonsense), "--tls-client-ca", str(nonsense)),
        ),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert ended.returncode == 1
    assert "nonsense.pem" in ended.stderr
    assert "Traceback" not in ended.stderr


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
    assert not open_perf_events(daemon)
