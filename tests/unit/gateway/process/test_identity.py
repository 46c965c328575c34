import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import ProcessGone
from gateway.process.identity import container_id, control_group, read_identity, systemd_unit

A = "0123456789abcdef" * 4
B = "f" * 64


@pytest.mark.parametrize(
    ("path", "container"),
    [
        (f"/system.slice/docker-{A}.scope", A),
        (f"/docker/{A}", A),
        (f"/kubepods/burstable/pod1f3b7a12-9c2e-4a57-8a0f-3c2b1d4e5f60/{A}", A),
        (f"/kubepods.slice/kubepods-pod1f3b.slice/cri-containerd-{A}.scope", A),
        (f"/kubepods.slice/kubepods-besteffort.slice/crio-{A}.scope", A),
        (f"/machine.slice/libpod-{A}.scope/container", A),
        (f"/docker/{A}/docker/{B}", B),
        (
            "/ecs/f1d2/0123456789abcdef0123456789abcdef-1234567890",
            "0123456789abcdef0123456789abcdef-1234567890",
        ),
        (f"/user.slice/{A}0", ""),
        ("/system.slice/ssh.service", ""),
        ("", ""),
    ],
)
def test_containers(path, container):
    assert container_id(path) == container


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("/system.slice/ssh.service", "ssh.service"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.service", "app-x.service"),
        ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope"),
        ("/system.slice/nginx.service/worker", "nginx.service"),
        (f"/system.slice/docker-{A}.scope", f"docker-{A}.scope"),
        ("/kubepods/besteffort", ""),
        ("/", ""),
    ],
)
def test_units(path, unit):
    assert systemd_unit(path) == unit


def test_version_2_is_preferred():
    assert control_group("1:name=systemd:/old\n0::/system.slice/x.service\n") == "/system.slice/x.service"


def test_version_1_where_version_2_has_everything_at_its_root():
    text = f"12:cpu,cpuacct:/docker/{A}/deeper\n1:name=systemd:/docker/{A}\n0::/\n"
    assert control_group(text) == f"/docker/{A}"


def test_version_1_without_systemd():
    assert control_group("3:cpu:/a\n2:memory:/a/b\n") == "/a/b"


def test_no_cgroups():
    assert control_group("") == ""
    assert control_group("0::/\n") == "/"


def test_a_path_with_colons():
    assert control_group("0::/a:b\n") == "/a:b"


def test_a_script_in_its_process(tmp_path):
    script = tmp_path / "busy loop.py"
    script.write_text("import sys; print('ready'); sys.stdin.read()")
    command = [sys.executable, "-u", str(script), "--password=x"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"ready\n"
        identity = read_identity(child.pid)
        child.communicate(b"")
    assert identity.exe == os.path.realpath(sys.executable)
    assert identity.script == "busy loop.py"
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
