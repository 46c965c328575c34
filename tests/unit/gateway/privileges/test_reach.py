"""GIVEN code that runs in a confined gateway WHEN it tries other users' files and processes THEN it reads all and writes memory files only."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.privileges.capabilities import NEEDED, own_sets

ROOT = Path(__file__).parents[4]
NOBODY, SOMEBODY = 65534, 65533

VICTIM = """
import ctypes, os, sys
word = ctypes.create_string_buffer(b"secret")
memory = os.memfd_create("shared")
os.write(memory, b"secret")
print(ctypes.addressof(word), memory, flush=True)
sys.stdin.read()
sys.stdout.write(word.value.decode() + " " + os.pread(memory, 6, 0).decode())
"""

# Everything is imported before the change: the interpreter may lie in a folder that only root can enter.
THIEF = """
import errno, json, os, sys
from gateway.privileges.drop_privileges import User, confine
user, file, pid, address, memory = sys.argv[1:]
confine(User("nobody", int(user), int(user)) if user else None)

def read(path, offset=0):
    with open(path, "rb", buffering=0) as opened:
        return os.pread(opened.fileno(), 6, offset).decode()

def write(path, offset=0):
    try:
        with open(path, "r+b", buffering=0) as opened:
            os.pwrite(opened.fileno(), b"broken", offset)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "written"

memory, mem, new = f"/proc/{pid}/fd/{memory}", f"/proc/{pid}/mem", f"{os.path.dirname(file)}/new"
status = open("/proc/self/status").read()
found = {
    "reads file": read(file), "reads memory": read(mem, int(address)), "reads memory file": read(memory),
    "writes file": write(file), "writes memory": write(mem, int(address)), "writes memory file": write(memory),
}
os.close(os.open("mine", os.O_CREAT | os.O_WRONLY, 0o666))
found["mode"] = oct(os.stat("mine").st_mode & 0o777)
found["sets"] = {line.split(":")[0]: line.split()[1] for line in status.splitlines() if line.startswith("Cap")}
print(json.dumps(found))
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where any user may enter, as tmp_path's parents do not let them."""
    if os.geteuid() or any(not own_sets().has(capability) for capability in NEEDED):
        pytest.skip("only a whole root can be two users")
    made = Path(tempfile.mkdtemp(prefix="fp-", dir="/tmp"))
    made.chmod(0o777)
    yield made
    shutil.rmtree(made)


@contextmanager
def victim(user: int) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A process of that user with a word in its memory and one in a memory file; says both when its input ends."""
    with subprocess.Popen(
        [shutil.which("python3", path="/usr/bin") or sys.executable, "-c", VICTIM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        user=user,
        group=user,
        extra_groups=[],
        cwd="/",
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().split()
        finally:
            process.kill()


def steal(folder: Path, thief: str, owner: int) -> tuple[dict[str, str], str, str]:
    """What the thief reached; the owner's file, and its words, afterwards."""
    file = folder / "file"
    file.write_text("secret")
    file.chmod(0o600)
    os.chown(file, owner, owner)
    with victim(owner) as (process, (address, memory)):
        done = subprocess.run(
            [sys.executable, "-c", THIEF, thief, str(file), str(process.pid), address, memory],
            cwd=folder,
            env={"PYTHONPATH": f"{ROOT}:{ROOT}/proto"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert not done.returncode, done.stderr
        words, _ = process.communicate(timeout=60)
    return json.loads(done.stdout), file.read_text(), words


def test_another_users_gateway_reads_everything_and_writes_memory_files_only(folder: Path):
    reached, file, words = steal(folder, str(NOBODY), SOMEBODY)
    assert {name: reached[name] for name in reached if name.startswith("reads")} == {
        "reads file": "secret",
        "reads memory": "secret",
        "reads memory file": "secret",
    }
    assert (reached["writes file"], reached["writes memory"]) == ("EACCES", "EACCES")
    assert reached["writes memory file"] == "written"
    assert (file, words) == ("secret", "secret broken")
    assert reached["mode"] == "0o600"


def test_roots_files_and_processes_are_beyond_another_users_gateway(folder: Path):
    reached, file, words = steal(folder, str(NOBODY), 0)
    assert (reached["writes file"], reached["writes memory"]) == ("EACCES", "EACCES")
    assert (file, words.split()[0]) == ("secret", "secret")


def test_a_gateway_that_stays_root_writes_roots_files_and_processes(folder: Path):
    reached, file, words = steal(folder, "", 0)
    assert (reached["writes file"], reached["writes memory"]) == ("written", "written")
    assert (file, words) == ("broken", "broken broken")


def test_all_five_sets_hold_no_more_than_what_is_needed(folder: Path):
    reached, _, _ = steal(folder, str(NOBODY), SOMEBODY)
    needed = sum(1 << capability.number for capability in NEEDED)
    nice = 1 << 23
    sets = {name: int(value, 16) for name, value in dict(reached["sets"]).items()}
    assert sets["CapInh"] == sets["CapAmb"] == 0
    assert {sets[name] & ~nice for name in ("CapPrm", "CapEff", "CapBnd")} == {needed}


def test_without_a_filter_it_says_so():
    """Sandboxes that stand in for a kernel refuse every filter; a kernel refuses one without instructions."""
    code = """
import logging, sys
logging.basicConfig(stream=sys.stdout, format="%(message)s %(fields)s")
from gateway.privileges import drop_privileges, seccomp
seccomp.build_filter = lambda: b""  # the kernel refuses a filter of no length
drop_privileges.confine()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert "system calls are not filtered" in done.stdout
