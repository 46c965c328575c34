import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import ProcessGone
from gateway.process.identity import read_identity


def test_a_script_in_its_process(tmp_path):
    script = tmp_path / "busy-loop.py"
    script.write_text("import sys; print('ready'); sys.stdin.read()")
    command = [sys.executable, "-u", str(script), "--password=x"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"ready\n"
        identity = read_identity(child.pid)
        child.communicate(b"")
    assert identity.exe == os.path.realpath(sys.executable)
    assert identity.script == "busy-loop.py"
    assert not identity.kernel_thread
    assert "x" not in {identity.comm, identity.unit}


def test_a_name_with_parentheses(tmp_path):
    strange = tmp_path / "a) R 1 (b"
    strange.symlink_to("/bin/cat")
    with subprocess.Popen([strange], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdin.write(b"x")
        child.stdin.flush()
        assert child.stdout.read(1) == b"x"
        identity = read_identity(child.pid)
        child.communicate(b"")
    assert identity.comm == "a) R 1 (b"
    assert identity.exe == os.path.realpath("/bin/cat")


def test_kernel_threads():
    if Path("/proc/2/comm").exists() and Path("/proc/2/comm").read_text() == "kthreadd\n":
        identity = read_identity(2)
    else:
        pytest.skip("kernel threads are not visible here")
    assert identity.kernel_thread
    assert identity.comm == "kthreadd"
    assert identity.exe == ""


def test_an_ended_process():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    with pytest.raises(ProcessGone):
        read_identity(child.pid)
