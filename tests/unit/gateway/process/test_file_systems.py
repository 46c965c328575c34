"""GIVEN a process's mounts WHEN a page of a file is to be read THEN no program of a user's is waited for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.process import file_systems, maps
from gateway.process.file_systems import is_trusted, served_by_kernel, shares_user_namespace
from gateway.process.maps import read_executable_maps
from gateway.process.mounts import devices, parse_mounts

ROOT = Path(__file__).parents[4]
ME = os.getpid()
MOUNTS = b"""22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:50 / /home/x/far rw,nosuid shared:9 - fuse.sshfs x rw
31 22 0:51 / /tmp rw shared:7 master:1 - tmpfs tmpfs rw
32 22 0:52 / /mnt rw - fuse x rw
"""


def test_what_a_program_serves_is_known_by_its_mount():
    assert devices(parse_mounts(MOUNTS)) == {(8, 1), (0, 51)}
    assert parse_mounts(b"garbage\n - \n1 2 x:y / / rw - ext4\n\n") == {}

    # A mount point's name may hold what Python, but not the kernel, takes for the end of a line.
    odd = b"30 22 0:50 / /home/x\r30 22 0:50 / /y rw,nosuid - fuse.sshfs x rw\n"
    assert devices(parse_mounts(odd)) == set()


@pytest.mark.parametrize(
    ("line", "trusted"),
    [
        (b"30 22 8:1 / /x rw - ext4 /dev/sda1 rw", True),
        (b"30 22 0:50 / /x rw shared:9 - fuse.cvmfs2 x rw,user_id=0,group_id=0,allow_other", True),
        (b"30 22 0:50 / /x rw - fuse.sshfs x rw,user_id=4711,group_id=0,allow_other", False),
        (b"30 22 0:50 / /x rw - fuse.sshfs x rw,user_id=00", False),
        (b"30 22 0:50 / /x rw - fuse.sshfs x rw", False),
        (b"30 22 0:50 / /x rw - fuse", False),
    ],
)
def test_of_programs_that_serve_files_roots_are_trusted(line: bytes, trusted: bool):
    assert is_trusted(parse_mounts(line)[b"30"]) is trusted


def test_a_new_mount_is_noticed(tmp_path: Path):
    """The list of mounts is read once, and again when the kernel says that it has changed; in a forked process anew."""
    command = ["unshare", "--mount", sys.executable, "-c", _MOUNTS_ANEW, tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    if "PermissionError" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("nothing may be mounted here")
    assert done.stdout.split() == ["False", "True", "True", "False", "True"], done.stderr


_MOUNTS_ANEW = """
import os, subprocess, sys
from gateway.process.file_systems import served_by_kernel
folder = sys.argv[1]
def seen(pid=os.getpid()):
    status = os.stat(folder)
    return served_by_kernel(0)((os.major(status.st_dev), os.minor(status.st_dev))), status.st_dev
_, before = seen()
subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
print(seen()[1] == before, seen()[0])
device = os.stat(folder).st_dev
sys.stdout.flush()
if not os.fork():
    subprocess.run(["umount", folder], check=True)
    served = served_by_kernel(0)
    print(seen()[0], served((0, os.minor(device))), flush=True)
    os._exit(0)
os.wait()
print(not served_by_kernel(0)((0, os.minor(device))))
"""


@pytest.mark.parametrize(
    ("device", "own_namespace", "served"),
    [
        ((0, 51), False, True),
        ((0, 51), True, False),
        ((0, 50), False, False),
        ((0, 77), False, False),
        ((259, 3), True, True),
    ],
)
def test_a_processs_own_mounts_count_only_if_it_cannot_make_any(
    monkeypatch: pytest.MonkeyPatch, device: tuple[int, int], own_namespace: bool, served: bool
):
    monkeypatch.setattr(file_systems, "own_devices", frozenset)
    monkeypatch.setattr(file_systems, "devices_of", lambda _: devices(parse_mounts(MOUNTS)))
    monkeypatch.setattr(file_systems, "shares_user_namespace", lambda _: not own_namespace)
    assert served_by_kernel(ME)(device) is served


def test_what_is_mounted_here_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_systems, "own_devices", lambda: frozenset({(0, 51)}))
    monkeypatch.setattr(file_systems, "shares_user_namespace", lambda _: False)
    assert served_by_kernel(ME)((0, 51))
    assert not served_by_kernel(ME)((0, 50))


def test_who_shares_the_namespace():
    assert shares_user_namespace(ME)
    assert not shares_user_namespace(2**22 + 5)


def test_no_build_id_is_asked_for_of_a_file_that_a_program_may_serve(monkeypatch: pytest.MonkeyPatch):
    told = {vma.path: vma.build_id for vma in read_executable_maps(ME) if vma.build_id}
    if not told:
        pytest.skip("this kernel tells no build ids")
    monkeypatch.setattr(maps, "served_by_kernel", lambda _: lambda _: False)
    untold = read_executable_maps(ME)
    assert {vma.path for vma in untold} >= told.keys()
    assert not any(vma.build_id for vma in untold)
