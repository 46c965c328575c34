"""GIVEN a file that another user owns or chooses WHEN it is opened THEN nobody can make the gateway wait, or do anything."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from gateway.errors import FileRefused
from gateway.jit.map_file import MapRefused, open_map
from gateway.process.file_candidates import candidates
from gateway.process.file_systems import USERS_PROGRAM
from gateway.process.images import Image, Images
from gateway.process.maps import Vma, read_executable_maps
from gateway.process.untrusted_file import open_untrusted, pinned, pinned_by_walk, read_untrusted
from tests.file_leases import give_away, leased
from tests.fuse_server import CONTENT, NAME, NOBODY, ROOT, spinning

T = TypeVar("T")
DEADLINE_S = 60.0


def answered(function: Callable[[], T]) -> T:
    """What it returns; fails if that does not come."""
    results: list[T] = []
    thread = threading.Thread(target=lambda: results.append(function()), daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    assert results, "it waits"
    return results[0]


def mapped_by(pid: int, name: str) -> Vma:
    return next(vma for vma in read_executable_maps(pid) if vma.path.endswith(name))


def test_a_regular_file_is_read(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"x" * 300_000)
    assert read_untrusted(tmp_path / "file", 300_000) == b"x" * 300_000
    with pytest.raises(FileRefused, match="more than 299999 bytes"):
        read_untrusted(tmp_path / "file", 299_999)


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path):
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"{tmp_path}/socket")
        for path in (tmp_path / "fifo", tmp_path / "socket", Path("/dev/zero"), tmp_path):
            with pytest.raises(FileRefused, match="not a regular file"):
                open_untrusted(path)


def test_a_link_is_followed_unless_it_must_not_be(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_untrusted(tmp_path / "link", 100) == b"content"
    with pytest.raises(FileRefused, match="not a regular file"):
        read_untrusted(tmp_path / "link", 100, flags=os.O_NOFOLLOW)


def test_what_was_looked_at_is_what_is_opened(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pinned(path) as found:
        path.unlink()
        os.mkfifo(path)
        assert read_untrusted(f"/proc/self/fd/{found}", 100) == b"before"


def test_a_file_under_a_lease_is_refused_until_it_ends(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"content")
    give_away(path)
    with leased(path):
        for _ in range(2):  # the first one asks the holder to end it
            with pytest.raises(FileRefused, match="lease"):
                open_untrusted(path)
    assert read_untrusted(path, 100) == b"content"


def test_a_program_under_a_lease_is_one_that_cannot_be_opened(tmp_path: Path):
    path = tmp_path / "program"
    path.write_bytes(CONTENT)
    give_away(path)
    with leased(path) as pid:
        image = Images().open(pid, mapped_by(pid, str(path)))
        assert image.why == "the mapped file cannot be opened"
        assert image.read(0, 4) == b""


def test_no_descriptor_is_left_open(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"content")
    os.mkfifo(tmp_path / "fifo")
    read_untrusted(path, 100)  # which opens the list of mounts, for good
    before = sorted(Path("/proc/self/fd").iterdir())
    read_untrusted(path, 100)
    for refused in (path, tmp_path / "fifo", tmp_path / "none"):
        with pytest.raises((FileRefused, OSError)):
            read_untrusted(refused, 1)
    assert sorted(Path("/proc/self/fd").iterdir()) == before


# Programs that serve file systems.


def image_of(pid: int) -> Image:
    return Images().open(pid, mapped_by(pid, NAME))


@pytest.mark.parametrize("kind", ["served", "layered"])
def test_a_file_system_that_a_users_program_serves_is_never_waited_for(kind: str):
    with spinning(kind) as pid:
        assert answered(lambda: image_of(pid)).why == "the mapped file cannot be opened"


def test_nor_is_one_that_everybody_may_look_into():
    """There the path leads to it, too: neither the file nor a name beside it may be looked for."""
    # Another user may not enter pytest's folders.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, spinning("shared", Path(folder)) as pid:
        vma = mapped_by(pid, NAME)
        assert answered(lambda: image_of(pid)).why == "the mapped file cannot be opened"
        for path in (vma.path, f"{folder}/folder/other"):
            assert answered(lambda path=path: reason_not_to_walk(path)) == USERS_PROGRAM
        ended = 2**22 + 5
        assert answered(lambda: list(candidates(ended, vma))) == []


def reason_not_to_walk(path: str) -> str:
    with pytest.raises(FileRefused) as refused, pinned_by_walk(path):
        pass
    return str(refused.value)


def test_a_path_is_walked_without_links(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("folder")
    with pinned_by_walk(f"{tmp_path}/folder/file") as found:
        assert read_untrusted(f"/proc/self/fd/{found}", 100) == b"content"
    for path in (f"{tmp_path}/link/file", f"{tmp_path}/folder/none"):
        with pytest.raises(OSError), pinned_by_walk(path):
            pass
    for path in (f"{tmp_path}/folder/../folder/file", "/", ""):
        with pytest.raises(FileRefused), pinned_by_walk(path):
            pass


def test_threads_that_end_leave_no_descriptor(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"content")
    read_untrusted(path, 100)
    before = sorted(Path("/proc/self/fd").iterdir())
    for _ in range(8):
        thread = threading.Thread(target=read_untrusted, args=(path, 100))
        thread.start()
        thread.join()
    assert sorted(Path("/proc/self/fd").iterdir()) == before


@pytest.mark.parametrize("kind", ["served", "layered"])
def test_nor_is_it_if_it_lies_over_tmp(kind: str):
    def why(pid: int) -> str:
        try:
            return f"opened: {open_map(pid)}"
        except MapRefused as refused:
            return str(refused)

    with spinning(kind, Path("/tmp")) as pid:
        assert "FUSE" in answered(lambda: why(pid))


_WHY = """
import os, sys
from gateway.process.images import Images
from gateway.process.maps import read_executable_maps
vma = next(vma for vma in read_executable_maps(int(sys.argv[1])) if vma.path.endswith("/program"))
print(len(os.listdir("/sys/fs/fuse/connections")), Images().open(int(sys.argv[1]), vma).why)
"""


def why_where_connections_are_seen(pid: int) -> tuple[int, str]:
    """How many file systems programs serve on this machine, and why the program's image cannot be walked."""
    script = 'mount -t fusectl none /sys/fs/fuse/connections && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, "-c", _WHY, str(pid)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    if done.returncode:
        pytest.skip(f"what programs serve cannot be seen here: {done.stderr}")
    count, _, why = done.stdout.strip().partition(" ")
    return int(count), why


def test_an_overlay_of_a_users_is_opened_where_no_user_serves_any_file_system():
    """As containers without root have one."""
    with spinning("alone") as pid:
        count, why = why_where_connections_are_seen(pid)
        if count:
            pytest.skip(f"rare: {count} programs serve file systems on this machine")
        assert why == "not a 64-bit little-endian ELF file"
    with spinning("plain") as pid:
        assert why_where_connections_are_seen(pid) == (1, "the mapped file cannot be opened")


_MAPPING = """
import mmap, os, sys
held = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
print("ready", flush=True)
sys.stdin.readline()
"""


def test_an_overlay_that_root_mounted_is_opened_for_a_process_in_a_user_namespace(tmp_path: Path):
    """As a root's engine gives containers: whoever else serves a file system, and wherever that could be seen."""
    lower, upper, work, over = folders = [tmp_path / name for name in ("lower", "upper", "work", "over")]
    for folder in folders:
        folder.mkdir()
    (lower / NAME).write_bytes(CONTENT)
    layers = f"lowerdir={lower},upperdir={upper},workdir={work}"
    mounted = subprocess.run(["mount", "-t", "overlay", "-o", layers, "none", over], check=False)
    if mounted.returncode:
        pytest.skip("no overlay can be mounted here")
    command = ["unshare", "--user", sys.executable, "-c", _MAPPING, over / NAME]
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            with spinning("alone"):
                why = image_of(process.pid).why
            process.kill()
    finally:
        subprocess.run(["umount", "--lazy", over], check=True)
    assert why == "not a 64-bit little-endian ELF file"


_TRUSTS = """
import os, sys
from gateway.process.file_systems import trusts_mounts_of
print(trusts_mounts_of(int(sys.argv[1])))
os.setresuid(*3 * [int(sys.argv[2])])
print(trusts_mounts_of(int(sys.argv[1])))
"""


def test_a_users_own_gateway_trusts_what_that_user_mounted():
    with spinning("alone") as pid:
        command = [sys.executable, "-c", _TRUSTS, str(pid), str(NOBODY)]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=True
        )
        assert done.stdout == "False\nTrue\n"
