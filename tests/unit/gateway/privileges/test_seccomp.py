"""GIVEN a confined gateway WHEN somebody runs code in it THEN other processes and programs are out of its reach."""

import errno
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.privileges.seccomp import REFUSED, build_filter

ROOT = Path(__file__).parents[4]
HEADER = Path("/usr/include/asm/unistd_64.h")
X86_64, I386 = 0xC000003E, 0x40000003
ALLOW, EPERM, ENOSYS = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
CLONE, CLONE3, NEW_USER = 56, 435, 0x10000000
# What CPython's threads, forks and gRPC live on.
LIVED_ON = {
    "read": 0,
    "mmap": 9,
    "clone": CLONE,
    "kill": 62,
    "wait4": 61,
    "epoll_wait": 232,
    "perf_event_open": 298,
}

CONFINED = """
import ctypes, errno, os, sys, threading
from gateway.privileges import drop_privileges
libc = ctypes.CDLL(None, use_errno=True)
refused = drop_privileges.refuse_system_calls
def try_it():
    if why := refused():
        print("not here:", why)
        os._exit(0)
    return ""
drop_privileges.refuse_system_calls = try_it
drop_privileges.confine()

def call(number, *arguments):
    done = libc.syscall(*map(ctypes.c_long, (number, *arguments)))
    return errno.errorcode[ctypes.get_errno()] if done < 0 else "done"

class Piece(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

here, there = ctypes.create_string_buffer(b"mine"), ctypes.create_string_buffer(b"kept")
pieces = [Piece(ctypes.addressof(each), 4) for each in (here, there)]
try:
    os.execv("/bin/true", ["true"])
except OSError as error:
    print("execve", errno.errorcode[error.errno])
print("process_vm_writev", call(311, os.getpid(), ctypes.addressof(pieces[0]), 1, ctypes.addressof(pieces[1]), 1, 0), there.value.decode())
print("ptrace", call(101, 0, 0, 0, 0))
print("new user namespace", call(56, 0x10000000 | 17, 0, 0, 0, 0))
print("x32", call(0x40000000 | 39))
ran = threading.Thread(target=lambda: print("thread", call(101, 0, 0, 0, 0)))
ran.start()
ran.join()
sys.stdout.flush()
if not (child := os.fork()):
    print("child", call(101, 0, 0, 0, 0), flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def answer(number: int, *, architecture: int = X86_64, argument: int = 0) -> int:
    """What the filter returns, carried out as the kernel does (classic BPF)."""
    program = list(struct.iter_unpack("=HBBI", build_filter()))
    data = struct.pack("=IIQ6Q", number & 0xFFFFFFFF, architecture, 0, argument, *[0] * 5)
    at, loaded = 0, 0
    while True:
        code, yes, no, value = program[at]
        at += 1
        match code:
            case 0x20:
                loaded = struct.unpack_from("=I", data, value)[0]
            case 0x06:
                return value
            case _:
                tests = {0x15: loaded == value, 0x35: loaded >= value, 0x45: bool(loaded & value)}
                at += yes if tests[code] else no


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_has_no_use_for_is_refused(name: str):
    assert answer(REFUSED[name]) == EPERM


@pytest.mark.parametrize("name", LIVED_ON)
def test_what_it_lives_on_passes(name: str):
    assert answer(LIVED_ON[name]) == ALLOW


def test_other_numberings_of_the_calls_are_no_way_around():
    assert answer(LIVED_ON["read"], architecture=I386) == EPERM
    assert answer(0x40000000 | 520) == EPERM  # x32's execve
    assert answer(-1) == EPERM


def test_a_child_gets_no_namespaces_of_its_own():
    assert answer(CLONE, argument=NEW_USER) == EPERM
    assert answer(CLONE, argument=0x3D0F00) == ALLOW  # pthread_create's
    assert answer(CLONE3) == ENOSYS


def test_the_numbers_are_the_kernels():
    if not HEADER.exists():
        pytest.skip(f"{HEADER} is not installed")
    known = {name: int(number) for name, number in re.findall(r"__NR_(\w+) (\d+)", HEADER.read_text())}
    assert {name: known.get(name, number) for name, number in REFUSED.items()} == REFUSED


def test_after_confining_it_runs_no_program_and_writes_into_no_process():
    done = subprocess.run(
        [sys.executable, "-c", CONFINED], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    if done.stdout.startswith("not here:"):
        pytest.skip(done.stdout.strip())
    assert done.stdout.splitlines() == [
        "execve EPERM",
        "process_vm_writev EPERM kept",
        "ptrace EPERM",
        "new user namespace EPERM",
        "x32 EPERM",
        "thread EPERM",
        "child EPERM",
    ]
