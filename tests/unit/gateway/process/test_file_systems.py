"""GIVEN a process's mounts WHEN a page of a file is to be read THEN no program of a user's is waited for."""

import os

import pytest

from gateway.process import file_systems, maps
from gateway.process.file_systems import devices, served_by_kernel, shares_user_namespace
from gateway.process.maps import read_executable_maps

ME = os.getpid()
MOUNTS = b"""22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 0:50 / /home/x/far rw,nosuid shared:9 - fuse.sshfs x rw
31 22 0:51 / /tmp rw shared:7 master:1 - tmpfs tmpfs rw
32 22 0:52 / /mnt rw - fuse x rw
"""


def test_what_a_program_serves_is_known_by_its_mount():
    assert devices(MOUNTS) == {(8, 1), (0, 51)}
    assert devices(b"garbage\n - \n1 2 x:y / / rw - ext4\n\n") == set()

    # A mount point's name may hold what Python, but not the kernel, takes for the end of a line.
    odd = b"30 22 0:50 / /home/x\r30 22 0:50 / /y rw,nosuid - fuse.sshfs x rw\n"
    assert devices(odd) == set()


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
    monkeypatch.setattr(file_systems, "_own_devices", frozenset)
    monkeypatch.setattr(file_systems, "_mounts", lambda _: MOUNTS)
    monkeypatch.setattr(file_systems, "shares_user_namespace", lambda _: not own_namespace)
    assert served_by_kernel(ME)(device) is served


def test_what_is_mounted_here_counts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(file_systems, "_own_devices", lambda: frozenset({(0, 51)}))
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
