"""A gateway without privileges: its own user's processes only, but all of them and whole."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fleetpb import capture_pb2, gateway_pb2
from tests.gateway_daemon import (
    DEADLINE_S,
    Daemon,
    ask,
    ends_of,
    function_starts,
    groups_where,
    plan,
    running,
    stacks_of,
    wait_until,
)

pytestmark = pytest.mark.integration

NOBODY = 65534
# Everything is imported before the change: the interpreter may lie in a folder that only root can enter.
AS_NOBODY = f"""
import os, sys
import gateway.containers.runtime_state, gateway.daemon, gateway.serving.server
os.setgroups([])
os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
sys.exit(gateway.daemon.main(sys.argv[1:]))
"""
PROGRAM = (sys.executable, "-c", AS_NOBODY)

# Starts a program as another user when told to. The test's own process cannot while a call is under way: to become
# another user it has to fork, which runs gRPC's fork handlers in the child beside live gRPC threads (seen: a segmentation
# fault of the child before it was the program).
LAUNCHER = f"""
import subprocess, sys
sys.stdin.readline()
with subprocess.Popen(
    sys.argv[1:], user={NOBODY}, group={NOBODY}, extra_groups=[], stdout=subprocess.DEVNULL
) as program:
    print(program.pid, flush=True)
    sys.stdin.read()
    program.kill()
"""


@pytest.fixture(scope="module", autouse=True)
def _permitted() -> None:
    if os.geteuid():
        pytest.skip("only root can become another user")
    try:
        level = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except OSError:
        pytest.skip("this kernel has no perf events")
    if level != 2:
        pytest.skip(f"kernel.perf_event_paranoid is {level}; what 2 permits cannot be seen")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Programs and the socket lie where the other user can walk, and only root can write."""
    made = Path(tempfile.mkdtemp(prefix="fp-", dir="/tmp"))
    made.chmod(0o755)
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    for name in ("busy", "late"):
        source = Path(__file__).with_name(f"{name}.c")
        subprocess.run([compiler, "-O2", "-pthread", "-o", made / name, source], check=True)
    yield made
    shutil.rmtree(made)


@contextmanager
def started(user: int, *command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, user=user, group=user, extra_groups=[], stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def launching(*command: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that starts the command as nobody for a line of its input, prints the pid, and ends it with itself."""
    arguments = [sys.executable, "-c", LAUNCHER, *command]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield process


@pytest.fixture(scope="module")
def daemon(folder: Path) -> Iterator[Daemon]:
    socket_folder = folder / "socket"
    socket_folder.mkdir(mode=0o700)
    os.chown(socket_folder, NOBODY, NOBODY)
    with running(socket_folder, program=PROGRAM) as process:
        yield process


@pytest.fixture(scope="module")
def capture(daemon: Daemon, folder: Path) -> Iterator[capture_pb2.Capture]:
    """While it is taken, a thread and a process are started by a program that sleeps at first, and one by root."""
    roots = folder / "roots-own"
    shutil.copy(folder / "busy", roots)
    newcomer = folder / "newcomer"
    shutil.copy(folder / "busy", newcomer)
    with (
        started(NOBODY, folder / "busy", "600"),
        started(0, roots, "600"),
        started(NOBODY, folder / "late") as late,
        launching(newcomer, "600") as launcher,
        daemon.stub() as stub,
    ):
        assert late.stdout is not None
        assert late.stdout.readline() == b"ready\n"

        def on_begin() -> None:
            wait_until("perf events are open", lambda: daemon.perf_descriptors > 0)
            late.send_signal(signal.SIGUSR1)
            assert launcher.stdin is not None
            launcher.stdin.write(b"\n")
            launcher.stdin.flush()
            assert launcher.stdout is not None
            assert Path(f"/proc/{int(launcher.stdout.readline())}").exists()

        answer = ask(stub, plan(seconds=3, rate_hz=199), on_begin=on_begin)
        yield answer.capture


@pytest.mark.slow
def test_it_says_that_it_saw_its_own_processes_only(capture: capture_pb2.Capture):
    (segment,) = capture.segments
    assert segment.unprivileged
    assert segment.support == capture_pb2.SUPPORT_OK
    assert list(segment.lost) == [0] * len(segment.cpus)


def test_other_users_processes_and_the_kernel_are_not_in_it(capture: capture_pb2.Capture, folder: Path):
    executables = {capture.strings[group.exe] for group in capture.groups}
    assert str(folder / "busy") in executables
    assert str(folder / "roots-own") not in executables
    assert not any(group.kernel_thread for group in capture.groups)
    kinds = {mapping.kind for mapping in capture.mappings}
    assert not kinds & {capture_pb2.Mapping.KERNEL, capture_pb2.Mapping.MODULE}
    assert not any(flags & 2 for flags in capture.frames.flags)


@pytest.mark.parametrize("name", ["busy", "newcomer"])
def test_stacks_are_whole_also_of_what_was_started_meanwhile(
    capture: capture_pb2.Capture, folder: Path, name: str
):
    ends = ends_of(stacks_of(capture, groups_where(capture, exe=str(folder / name))))
    assert ends.total() > 0
    assert ends.total() - ends["COMPLETE"] <= max(1, 0.05 * ends.total()), ends


@pytest.mark.parametrize("function", ["late_thread", "late_child"])
def test_threads_and_children_started_meanwhile_are_found(
    capture: capture_pb2.Capture, folder: Path, function: str
):
    binary = folder / "late"
    start = function_starts(binary)[function]
    samples = sum(
        stack.count
        for stack in stacks_of(capture, groups_where(capture, exe=str(binary)))
        if any(frame[0] == str(binary) and frame[2] == start for frame in stack.frames)
    )
    assert samples > 0


def test_a_thread_is_in_the_group_of_its_process(capture: capture_pb2.Capture, folder: Path):
    """The group's name is the process's, whatever its threads call themselves."""
    groups = groups_where(capture, exe=str(folder / "late"))
    assert {capture.strings[capture.groups[index].comm] for index in groups} == {"late"}
    assert sum(capture.groups[index].processes for index in groups) == 2


def test_everything_is_closed_afterwards_and_counters_are_left_out_with_a_note(
    capture: capture_pb2.Capture, daemon: Daemon
):
    assert daemon.perf_descriptors == 0
    with daemon.stub() as stub:
        again = ask(stub, plan(seconds=0.1, counters=True)).capture
    assert not again.counters
    assert any("CAP_PERFMON" in note for note in again.notes)


def test_the_machine_says_which_events_an_unprivileged_user_has(daemon: Daemon):
    with daemon.stub() as stub:
        machine = stub.Describe(gateway_pb2.DescribeRequest(), timeout=DEADLINE_S)
    assert {event.event: event.support for event in machine.events}["cpu"] == capture_pb2.SUPPORT_OK


def test_what_happens_in_the_kernel_only_is_denied_not_seen_0_times(daemon: Daemon, folder: Path):
    """Faults are seen where user code takes them; a switch is never seen without the kernel's part."""
    events = [
        gateway_pb2.EventPlan(event=name, period=period, duration_ms=1000, stacks=True)
        for name, period in (("page-faults", 7), ("context-switches", 1), ("cpu-migrations", 1))
    ]
    with started(NOBODY, "/bin/sh", "-c", "while :; do /bin/true; done"), daemon.stub() as stub:
        capture = ask(stub, plan(*events)).capture
        machine = stub.Describe(gateway_pb2.DescribeRequest(), timeout=DEADLINE_S)
    verdicts = {
        capture.strings[segment.event]: (segment.support, segment.errno) for segment in capture.segments
    }
    denied = (capture_pb2.SUPPORT_DENIED, errno.EACCES)
    assert verdicts == {
        "page-faults": (capture_pb2.SUPPORT_OK, 0), "context-switches": denied, "cpu-migrations": denied,
    }  # fmt: skip
    assert sum(segment.samples for segment in capture.segments) > 0
    support = {event.event: event.support for event in machine.events}
    assert support["page-faults"] == capture_pb2.SUPPORT_OK
    assert support["context-switches"] == capture_pb2.SUPPORT_DENIED


@pytest.mark.slow
def test_a_storm_is_thinned_here_too(daemon: Daemon):
    """A new period means events opened anew: the kernel changes it for a thread, not for those that inherited it."""
    every = gateway_pb2.EventPlan(event="page-faults", period=1, duration_ms=1500, stacks=True)
    with started(NOBODY, "/bin/sh", "-c", "while :; do /bin/true; done"), daemon.stub() as stub:
        for _ in range(10):
            segments = ask(stub, plan(every)).capture.segments
            if len(segments) > 1:
                break
    assert len(segments) > 1
    assert [segment.requested_period for segment in segments] == [1] * len(segments)
    periods = [segment.period for segment in segments]
    assert periods == sorted(set(periods))
    assert daemon.perf_descriptors == 0


def test_told_to_sample_the_machine_it_refuses_and_names_the_command(folder: Path):
    ended = subprocess.run(
        [*PROGRAM, "--own-processes", "never", "--listen", f"unix:{folder}/socket/never.sock"],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("fleetprof-gateway: perf events are not permitted")
    assert "sudo setcap cap_perfmon" in ended.stderr
