"""The gateway as nobody with exactly the documented capabilities, and with each of them missing."""

import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleetpb import capture_pb2
from gateway.capture.packer import KERNEL as IN_THE_KERNEL
from gateway.privileges.capabilities import (
    CHECKPOINT_RESTORE,
    DAC_READ_SEARCH,
    IPC_LOCK,
    NEEDED,
    PERFMON,
    SYS_NICE,
    SYS_PTRACE,
    SYSLOG,
    Capability,
)
from tests.gateway_daemon import (
    DEADLINE_S,
    Daemon,
    ask,
    ends_of,
    groups_where,
    plan,
    require_perf_events,
    running,
    stacks_of,
    wait_until,
)

pytestmark = [pytest.mark.integration, pytest.mark.slow]

NOBODY = 65534
SOMEBODY = 65533
PROGRAMS = ("common", "private", "deleted")
ENOUGH = 5
# Everything is imported before the change: the interpreter may lie in a folder that only root can enter.
AS_NOBODY = f"""
import importlib, os, pkgutil, resource, sys
import gateway
for module in pkgutil.walk_packages(gateway.__path__, "gateway."):
    if module.name != "gateway.__main__":
        importlib.import_module(module.name)
from gateway.privileges.drop_privileges import User, _become, _set_capabilities
resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
_become(User("nobody", {NOBODY}, {NOBODY}))
_set_capabilities(int(sys.argv.pop(1)))
sys.exit(gateway.daemon.main(sys.argv[1:]))
"""

# Kubernetes gives capabilities to no user but root.
CAP_CHOWN, CAP_SETGID, CAP_SETUID = 0, 6, 7
AS_CONTAINER = AS_NOBODY.replace(f'_become(User("nobody", {NOBODY}, {NOBODY}))\n', "")

# struct sock_filter: load the number of the system call; capset (126 on x86-64) is EPERM, the rest passes.
NO_CAPSET = struct.pack(
    "HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 126, 0x06, 0, 0, 0x00050001, 0x06, 0, 0, 0x7FFF0000
)
FILTER = f"""
import ctypes
program = ctypes.create_string_buffer({NO_CAPSET!r})
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(4, ctypes.addressof(program))), 0, 0) == 0
"""
FILTERED = AS_NOBODY.replace("sys.exit(gateway.daemon.main", FILTER + "sys.exit(gateway.daemon.main")


@pytest.fixture(scope="module", autouse=True)
def _permitted() -> None:
    if os.geteuid():
        pytest.skip("only root can become another user")
    require_perf_events()


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="fp-", dir="/tmp"))
    made.chmod(0o755)
    (made / "sockets").mkdir(mode=0o700)
    os.chown(made / "sockets", NOBODY, NOBODY)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def programs(folder: Path) -> Iterator[Path]:
    """Another user's, busy all the time: a common binary, one that only its owner may read, and one that was deleted."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    with ExitStack() as started:
        for name in PROGRAMS:
            binary = folder / name
            source = Path(__file__).with_name("busy.c")
            subprocess.run([compiler, "-O2", "-fomit-frame-pointer", "-o", binary, source], check=True)
            os.chown(binary, SOMEBODY, SOMEBODY)
            if name == "private":
                binary.chmod(0o700)
            process = started.enter_context(
                subprocess.Popen([binary, "600"], user=SOMEBODY, group=SOMEBODY, extra_groups=[])
            )
            started.callback(process.kill)
        (folder / "deleted").unlink()
        yield folder


@contextmanager
def holding(folder: Path, *capabilities: Capability, code: str = AS_NOBODY) -> Iterator[Daemon]:
    mask = sum(1 << capability.number for capability in capabilities)
    program = (sys.executable, "-c", code, str(mask))
    place = folder / "sockets" / uuid.uuid4().hex[:8]
    place.mkdir(mode=0o700)
    os.chown(place, NOBODY, NOBODY)
    with running(place, program=program) as daemon:
        yield daemon


def without(missing: Capability) -> list[Capability]:
    return [capability for capability in NEEDED if capability is not missing]


@dataclass
class Seen:
    """What captures showed of each program: how its stacks ended, and under which executables."""

    ends: dict[str, Counter[str]]
    executables: set[str]
    capture: capture_pb2.Capture

    def whole(self) -> set[str]:
        """Programs whose stacks are complete."""
        return {name for name, ends in self.ends.items() if ends["COMPLETE"] >= 0.8 * ends.total() > 0}


def look(daemon: Daemon) -> Seen:
    """Captures until there are enough samples of each program, and the last has the kernel's: others hog the CPUs."""
    seen = Seen({name: Counter() for name in PROGRAMS}, set(), capture_pb2.Capture())
    with daemon.stub() as stub, busy_in_the_kernel():
        while min(ends.total() for ends in seen.ends.values()) < ENOUGH or not sampled_the_kernel(
            seen.capture
        ):
            seen.capture = capture = ask(stub, plan(seconds=0.4, rate_hz=199)).capture
            for name in PROGRAMS:
                groups = groups_where(capture, comm=name)
                seen.ends[name].update(ends_of(stacks_of(capture, groups)))
                seen.executables |= {capture.strings[capture.groups[index].exe] for index in groups}
    return seen


@contextmanager
def busy_in_the_kernel() -> Iterator[None]:
    """Something runs that is in the kernel most of the time."""
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.kill()


def sampled_the_kernel(capture: capture_pb2.Capture) -> bool:
    return any(flags & IN_THE_KERNEL for flags in capture.frames.flags)


def kernel_has_a_place(capture: capture_pb2.Capture) -> bool:
    return any(mapping.kind == capture_pb2.Mapping.KERNEL for mapping in capture.mappings)


CPUS = len(os.sched_getaffinity(0))


def rings(pid: int) -> list[int]:
    """Bytes of each mapping of a perf event."""
    lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
    ranges = [line.split()[0].split("-") for line in lines if "[perf_event]" in line]
    return [int(end, 16) - int(start, 16) for start, end in ranges]


@pytest.fixture(scope="module")
def with_all(folder: Path, programs: Path) -> Iterator[Daemon]:
    with holding(folder, *NEEDED) as daemon:
        yield daemon


def test_with_exactly_the_documented_ones_nothing_is_missing(with_all: Daemon, programs: Path):
    seen = look(with_all)
    assert seen.whole() == set(PROGRAMS)
    assert seen.executables == {str(programs / name) for name in PROGRAMS}
    assert kernel_has_a_place(seen.capture)
    assert not seen.capture.segments[0].unprivileged


def test_nothing_else_is_held_and_nothing_can_be_had(with_all: Daemon):
    server = with_all.server
    assert server is not None
    for pid in (with_all.process.pid, server):
        status = dict(re.findall(r"^(\w+):\s*(.+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE))
        held = f"{sum(1 << capability.number for capability in NEEDED):016x}"
        assert (status["CapPrm"], status["CapEff"]) == (held, held)
        assert status["CapInh"] == status["CapAmb"] == "0" * 16
        assert status["NoNewPrivs"] == "1"
        assert status["Uid"].split() == [str(NOBODY)] * 4
        # Nobody but root owns what is to be seen of a process that is not dumpable (proc(5)).
        assert Path(f"/proc/{pid}/maps").stat().st_uid == 0
        assert re.search(r"^Max core file size +0 +0 ", Path(f"/proc/{pid}/limits").read_text(), re.MULTILINE)


def test_without_perfmon_it_sees_its_own_user_only(folder: Path, programs: Path):
    with holding(folder, *without(PERFMON)) as daemon, daemon.stub() as stub:
        capture = ask(stub, plan(seconds=0.2, counters=True)).capture
    assert capture.segments[0].unprivileged
    assert not capture.counters
    assert not {capture.strings[group.comm] for group in capture.groups} & set(PROGRAMS)


def test_without_ptrace_other_users_programs_have_no_name(folder: Path, programs: Path):
    with holding(folder, *without(SYS_PTRACE)) as daemon:
        seen = look(daemon)
    assert seen.executables == {""}
    assert "deleted" not in seen.whole()


@pytest.mark.parametrize(
    ("missing", "whole"),
    [(CHECKPOINT_RESTORE, {"common", "private"}), (DAC_READ_SEARCH, {"common"})],
)
def test_without_it_binaries_that_cannot_be_opened_end_a_stack(
    folder: Path, programs: Path, missing: Capability, whole: set[str]
):
    with holding(folder, *without(missing)) as daemon:
        seen = look(daemon)
    assert seen.whole() == whole
    assert seen.executables == {str(programs / name) for name in PROGRAMS}


def test_without_syslog_the_kernel_has_no_place(folder: Path, programs: Path):
    with holding(folder, *without(SYSLOG)) as daemon:
        seen = look(daemon)
    assert not kernel_has_a_place(seen.capture)
    assert any("CAP_SYSLOG" in note for note in seen.capture.notes)
    assert seen.whole() == set(PROGRAMS)


def test_without_ipc_lock_rings_are_small(folder: Path, with_all: Daemon):
    sizes = []
    with holding(folder, *without(IPC_LOCK)) as daemon:
        for each in (with_all, daemon):
            assert each.server is not None
            with each.stub() as stub:
                stream = stub.Capture(plan(seconds=20, rate_hz=999), timeout=DEADLINE_S)
                next(stream)
                server = each.server
                # A large ring of one CPU may fit for a moment, before that of the next does not.
                wait_until("each CPU has one", lambda: len(rings(server)) >= CPUS)  # noqa: B023 - called at once
                sizes.append(max(rings(server)))
                stream.cancel()
    assert sizes[1] < 1 << 20 <= sizes[0]


def test_a_filter_that_refuses_to_give_up_what_is_not_held_does_no_harm(folder: Path):
    """Some services' filters do not let capset(2) pass."""
    with holding(folder, *NEEDED, code=FILTERED) as daemon, daemon.stub() as stub:
        assert not ask(stub, plan(seconds=0.1)).capture.segments[0].unprivileged
    started = [sys.executable, "-c", FILTERED, str(1 << 21), "--listen", f"unix:{folder}/sockets/f.sock"]
    refused = subprocess.run(started, capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert "cannot drop capabilities" in refused.stderr


def test_root_becomes_another_user_and_keeps_what_sampling_needs(folder: Path, programs: Path):
    place = folder / "roots"
    place.mkdir(mode=0o755)
    with running(place, "--user", str(NOBODY)) as daemon:
        server = daemon.server
        assert server is not None
        status = Path(f"/proc/{server}/status").read_text()
        held = int(re.search(r"^CapEff:\s*(\w+)", status, re.MULTILINE)[1], 16)  # type: ignore[index]  # it is there
        bounding = int(re.search(r"^CapBnd:\s*(\w+)", status, re.MULTILINE)[1], 16)  # type: ignore[index]  # it is there
        assert re.search(rf"^Uid:\s*{NOBODY}\s+{NOBODY}\s+{NOBODY}\s+{NOBODY}$", status, re.MULTILINE)
        assert re.search(r"^Groups:\s*$", status, re.MULTILINE)
        needed = sum(1 << capability.number for capability in NEEDED)
        assert held == bounding
        assert held & ~(1 << SYS_NICE.number) == needed
        assert look(daemon).whole() == set(PROGRAMS)


def test_a_containers_root_becomes_another_user_by_two_capabilities_more(folder: Path):
    """As Kubernetes and compose start it: all dropped, these added. Root's files and processes are root's again."""
    place = folder / "container"
    place.mkdir(mode=0o755)
    # A socket's file changes hands by CAP_CHOWN; there it is a port.
    more = 1 << CAP_CHOWN | 1 << CAP_SETUID | 1 << CAP_SETGID
    mask = sum(1 << capability.number for capability in NEEDED) | more
    program = (sys.executable, "-c", AS_CONTAINER, str(mask))
    with running(place, "--user", str(NOBODY), program=program) as daemon, daemon.stub() as stub:
        assert not ask(stub, plan(seconds=0.1)).capture.segments[0].unprivileged
        server = daemon.server
        assert server is not None
        for pid in (daemon.process.pid, server):
            status = dict(
                re.findall(r"^(\w+):\s*(.+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
            )
            held = f"{sum(1 << capability.number for capability in NEEDED):016x}"
            assert (status["CapPrm"], status["CapEff"]) == (held, held)
            assert status["Uid"].split() == status["Gid"].split() == [str(NOBODY)] * 4
            assert status["Seccomp"] == "2"


def test_only_root_can_become_another_user(folder: Path):
    ended = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, "0", "--user", "0", "--listen", f"unix:{folder}/sockets/u.sock"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "only root can" in ended.stderr
