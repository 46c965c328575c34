"""A program that serves a file system of its own (FUSE) and stops answering: what any user can put below his files.

Run as root: `python -m tests.fuse_server KIND FOLDER`. It becomes uid 65534 in namespaces of its own, serves a file system with
one file, and spins in that file's code. KIND is what the file is mapped through: `served` the file system itself, `layered`
an overlay over it, `plain` an overlay over memory, while the other serves elsewhere, `alone` the same while none serves; `shared`
the file system itself, in the machine's own namespaces, where everybody may look into it (`allow_other`). FOLDER is where that is
mounted. Once it spins its file system stops answering, and it says `silent`.
"""

import ctypes
import errno
import mmap
import os
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NoReturn

import pytest

ROOT: Final = Path(__file__).parents[1]
NOBODY: Final = 65534
NAME: Final = "program"
SPIN: Final = b"\xeb\xfe"
"""An instruction that jumps to itself."""
CONTENT: Final = b"\x7fELF".ljust(64, b"\0") + SPIN.ljust(4096, b"\0")
CODE_AT: Final = 64
COMM: Final = "served-files"
_NEW_NAMESPACES: Final = 0x10000000 | 0x00020000  # CLONE_NEWUSER | CLONE_NEWNS
_PR_SET_DUMPABLE: Final = 4
_MS_BIND: Final = 4096
_MNT_DETACH: Final = 2
_REQUEST: Final = struct.Struct("<IIQQIIII")  # struct fuse_in_header of linux/fuse.h
_REPLY: Final = struct.Struct("<IiQ")  # struct fuse_out_header
_INIT, _LOOKUP, _GETATTR, _OPEN, _READ, _STATFS, _RELEASE, _OPENDIR, _RELEASEDIR = (
    26,
    1,
    3,
    14,
    15,
    17,
    18,
    27,
    29,
)
_FORGET, _INTERRUPT, _BATCH_FORGET = 2, 36, 42
_UNANSWERED: Final = (_FORGET, _INTERRUPT, _BATCH_FORGET)
_FOLDER, _FILE = 1, 2
_libc: Final = ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _mount(source: str, target: Path, kind: str, options: str = "", flags: int = 0) -> None:
    _checked(
        _libc.mount(
            source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode()
        )
    )


def _attributes(node: int) -> bytes:
    mode, size = (stat.S_IFDIR | 0o755, 0) if node == _FOLDER else (stat.S_IFREG | 0o755, len(CONTENT))
    return struct.pack("<6Q10I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def _answer(operation: int, node: int, body: bytes) -> bytes:
    """The reply's body; raises OSError for what there is not."""
    if operation == _INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 1 << 16, 0, 8, 8, 1 << 16, 1, 0, 0, *(0,) * 8)
    if operation == _LOOKUP and body.rstrip(b"\0") == NAME.encode():
        return struct.pack("<4Q2I", _FILE, 0, 0, 0, 0, 0) + _attributes(_FILE)
    if operation == _LOOKUP:
        raise FileNotFoundError(errno.ENOENT, "")
    if operation == _GETATTR:
        return bytes(16) + _attributes(node)
    if operation in {_OPEN, _OPENDIR}:
        return bytes(16)
    if operation == _READ:
        _, offset, size = struct.unpack_from("<QQI", body)
        return CONTENT[offset : offset + size]
    if operation == _STATFS:
        return struct.pack("<5Q4I24x", 0, 0, 0, 0, 0, 4096, 255, 4096, 0)
    if operation in {_RELEASE, _RELEASEDIR}:
        return b""
    raise OSError(errno.ENOSYS, "")


def _serve(device: int) -> None:
    silent = False

    def stop(_signal: int, _frame: object) -> None:
        nonlocal silent
        silent = True

    signal.signal(signal.SIGUSR1, stop)
    while request := os.read(device, 1 << 18):
        _, operation, unique, node, *_ = _REQUEST.unpack_from(request)
        if silent or operation in _UNANSWERED:
            continue
        error, body = 0, b""
        try:
            body = _answer(operation, node, request[_REQUEST.size :])
        except OSError as reason:
            error = -(reason.errno or errno.EIO)
        os.write(device, _REPLY.pack(_REPLY.size + len(body), error, unique) + body)


def _device() -> int:
    """/dev/fuse as most distributions have it, open to everybody; by O_PATH, for the kernel wants it opened in the namespace that mounts."""
    with tempfile.TemporaryDirectory() as folder:
        node = Path(folder, "fuse")
        os.mknod(node, stat.S_IFCHR, Path("/dev/fuse").stat().st_rdev)
        node.chmod(0o666)
        return os.open(node, os.O_PATH)


def main(kind: str, folder: Path) -> None:
    Path("/proc/self/comm").write_text(COMM)
    fuse = _device()
    if kind == "shared":
        server = _started(fuse, folder, user=NOBODY)
        _become_nobody()
        _spin_and_fall_silent(folder / NAME, server)
    _become_nobody()
    _checked(_libc.unshare(_NEW_NAMESPACES))
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {NOBODY} 1")
    Path("/proc/self/gid_map").write_text(f"0 {NOBODY} 1")
    _mount("tmpfs", Path("/mnt"), "tmpfs")
    served, plain, over, work = (Path("/mnt", name) for name in ("served", "plain", "over", "work"))
    for made in (served, plain, over, work, work / "upper", work / "work"):
        made.mkdir()
    server = 0 if kind == "alone" else _started(fuse, served)
    (plain / NAME).write_bytes(CONTENT)
    target = folder if folder.is_dir() else over
    if kind == "served":
        _mount(str(served), target, "", flags=_MS_BIND)
    else:
        lower = served if kind == "layered" else plain
        layers = f"lowerdir={lower},upperdir={work}/upper,workdir={work}/work"
        _mount("overlay", target, "overlay", layers)
    _spin_and_fall_silent(target / NAME, server)


def _become_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    _checked(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0))


def _spin_and_fall_silent(file: Path, server: int) -> NoReturn:
    spin_in(os.open(file, os.O_RDONLY))
    if server:
        os.kill(server, signal.SIGUSR1)
    sys.stdout.write("silent\n")
    sys.stdout.flush()
    sys.stdin.readline()
    os._exit(0)


def spin_in(descriptor: int) -> None:
    """Run the file's code for ever in a thread, from a mapping of the file; it has been met when this returns."""
    _libc.mmap.restype = ctypes.c_void_p
    protection = mmap.PROT_READ | mmap.PROT_EXEC
    address = _libc.mmap(
        None, ctypes.c_size_t(4096), protection, mmap.MAP_PRIVATE, descriptor, ctypes.c_long(0)
    )
    assert ctypes.string_at(address + CODE_AT, len(SPIN)) == SPIN
    function = ctypes.CFUNCTYPE(None)(address + CODE_AT)
    threading.Thread(target=function, daemon=True).start()


def _started(fuse: int, folder: Path, *, user: int = 0) -> int:
    """The pid of a program that serves the folder."""
    device = os.open(f"/proc/self/fd/{fuse}", os.O_RDWR)
    _mount("served", folder, "fuse", f"fd={device},rootmode=40000,user_id={user},group_id={user},allow_other")
    server = os.fork()
    if not server:
        if user:
            _become_nobody()
        _serve(device)
        os._exit(0)
    os.close(device)
    return server


@contextmanager
def spinning(kind: str, folder: Path = Path("/nowhere")) -> Iterator[int]:
    """The pid of such a program; skips where none can be had."""
    if os.geteuid() or not Path("/dev/fuse").exists():
        pytest.skip("only root can make such a program, with /dev/fuse")
    command = [sys.executable, "-m", "tests.fuse_server", kind, folder]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"silent\n"
            yield process.pid
        finally:
            # What serves goes first: at its end the other would wait for an answer.
            for server in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                os.kill(int(server), signal.SIGKILL)
            process.kill()
            if kind == "shared":
                _libc.umount2(os.fsencode(folder), _MNT_DETACH)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
