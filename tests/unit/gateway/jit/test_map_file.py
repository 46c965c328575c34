"""GIVEN a file in /tmp WHEN a process's map is opened THEN it is the one that the process wrote, or none."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import ProcessGone
from gateway.jit import map_file
from gateway.jit.map_file import MapRefused, open_map, open_map_of_ended, read_owner
from tests.file_leases import leased

GONE = 1 << 23


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits until its input is closed."""
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        yield child
        child.kill()


@pytest.fixture
def place(process: subprocess.Popen[bytes]) -> Iterator[Path]:
    path = Path(f"/tmp/perf-{process.pid}.map")
    yield path
    with suppress(FileNotFoundError):
        path.unlink()


def content(descriptor: int | None) -> bytes:
    assert descriptor is not None
    try:
        return os.read(descriptor, 100)
    finally:
        os.close(descriptor)


def test_a_process_without_a_map_has_none(process: subprocess.Popen[bytes]):
    assert open_map(process.pid) is None


def test_the_map_is_found_by_the_process_number(process: subprocess.Popen[bytes], place: Path):
    place.write_bytes(b"1000 10 f\n")
    assert content(open_map(process.pid)) == b"1000 10 f\n"


def test_a_link_is_refused(process: subprocess.Popen[bytes], place: Path, tmp_path: Path):
    target = tmp_path / "secret"
    target.write_bytes(b"1000 10 f\n")
    place.symlink_to(target)
    with pytest.raises(MapRefused):
        open_map(process.pid)
    place.unlink()
    if target.stat().st_dev == place.parent.stat().st_dev:
        place.hardlink_to(target)
        with pytest.raises(MapRefused, match="link"):
            open_map(process.pid)


def test_what_is_no_regular_file_is_not_opened(process: subprocess.Popen[bytes], place: Path):
    os.mkfifo(place)
    with pytest.raises(MapRefused, match="not a regular file"):
        open_map(process.pid)
    place.unlink()
    place.mkdir()
    with pytest.raises(MapRefused, match="not a regular file"):
        open_map(process.pid)
    place.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_somebody_elses_file_is_refused(process: subprocess.Popen[bytes], place: Path):
    place.write_bytes(b"1000 10 f\n")
    os.chown(place, 4711, -1)
    with pytest.raises(MapRefused, match="4711"):
        open_map(process.pid)


def test_a_file_older_than_the_process_is_refused(process: subprocess.Popen[bytes], place: Path):
    """The number was another process's before."""
    place.write_bytes(b"1000 10 f\n")
    hour_ago = time.time() - 3600
    os.utime(place, (hour_ago, hour_ago))
    with pytest.raises(MapRefused, match="before"):
        open_map(process.pid)


def test_a_process_that_is_gone_has_left_its_map_where_its_parent_lives():
    place = Path(f"/tmp/perf-{GONE}.map")
    with pytest.raises(ProcessGone):
        open_map(GONE)
    assert open_map_of_ended(GONE, os.getpid(), since=time.time()) is None
    try:
        place.write_bytes(b"1000 10 f\n")
        assert content(open_map_of_ended(GONE, os.getpid(), since=time.time() - 1)) == b"1000 10 f\n"
        with pytest.raises(MapRefused, match="before"):
            open_map_of_ended(GONE, os.getpid(), since=time.time() + 60)
    finally:
        place.unlink()


def test_a_process_that_ended_and_was_not_waited_for_is_gone(process: subprocess.Popen[bytes]):
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(ProcessGone):
        open_map(process.pid)


def test_in_a_container_the_map_is_the_one_inside():
    """Its own pid namespace, where it is number 1, and its own /tmp."""
    inside = "mount -t tmpfs none /tmp && echo '1000 10 inside' > /tmp/perf-1.map && echo ready && read end"
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", inside]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    with process:
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            pytest.skip("namespaces may not be made here")
        pid = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
        assert read_owner(pid).own_pid == 1
        assert read_owner(pid).nested
        assert content(open_map(pid)) == b"1000 10 inside\n"
        # Of one that is gone the number inside is not known any more.
        assert open_map_of_ended(GONE, pid, since=0) is None
        process.kill()


@contextmanager
def in_namespaces(*options: str, script: str) -> Iterator[int]:
    """The number of a process in namespaces of its own that ran a shell's script, which says "ready"."""
    command = ["unshare", *options, "sh", "-c", f"{script} && echo ready && read end"]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    with process:
        assert process.stdout is not None
        try:
            if process.stdout.readline() != b"ready\n":
                pytest.skip("namespaces may not be made here")
            yield process.pid
        finally:
            process.kill()


def test_a_file_that_is_mounted_there_is_not_read(tmp_path: Path):
    """Whoever may mount in a namespace of his own could have any file read, whatever its mode."""
    secret = tmp_path / "secret"
    secret.write_bytes(b"1000 10 f\n")
    script = f"mount -t tmpfs none /mnt && cat {secret} > /mnt/s && mount -t tmpfs none /tmp && :> /tmp/perf-$$.map"
    covered = f"{script} && mount --bind /mnt/s /tmp/perf-$$.map"
    with in_namespaces("--mount", script=covered) as pid, pytest.raises(MapRefused, match="mounted"):
        open_map(pid)
    with in_namespaces("--mount", script=f"{script} && cat /mnt/s > /tmp/perf-$$.map") as pid:
        assert content(open_map(pid)) == secret.read_bytes()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_roots_file_counts_only_where_root_mounted_it(process: subprocess.Popen[bytes], place: Path):
    place.write_bytes(b"1000 10 f\n")
    someone = frozenset({4711})
    mine, elsewhere = (
        replace(read_owner(process.pid), users=someone, may_mount=may) for may in (False, True)
    )
    status = place.stat()
    map_file._check(status, mine, 0)
    with pytest.raises(MapRefused, match="root owns it"):
        map_file._check(status, elsewhere, 0)
    map_file._check(status, replace(elsewhere, users=frozenset({0})), 0)


def test_whoever_has_a_user_namespace_may_mount(process: subprocess.Popen[bytes]):
    assert not read_owner(process.pid).may_mount
    with in_namespaces("--user", "--map-root-user", script=":") as pid:
        assert read_owner(pid).may_mount


def test_who_a_process_is(process: subprocess.Popen[bytes]):
    owner = read_owner(process.pid)
    assert owner.users == {os.geteuid()}
    assert not owner.nested
    assert owner.own_pid == process.pid
    assert abs(owner.started - time.time()) < 30
    assert owner.started <= time.time() + 1


def test_a_map_under_a_lease_is_refused(process: subprocess.Popen[bytes], place: Path):
    """Its owner could keep the gateway waiting for 45 s, again and again."""
    place.write_bytes(b"1000 10 f\n")
    with leased(place), pytest.raises(MapRefused, match="lease"):
        open_map(process.pid)
    assert content(open_map(process.pid)) == b"1000 10 f\n"
