import fcntl
import os
import select
import sys
from pathlib import Path

import numpy as np
import pytest

from simulation.elf_writer import Symbol, elf_file
from symbolizer.addresses import FileOffsets
from symbolizer.elf.file import ElfFile
from symbolizer.files import OpenedFile
from symbolizer.identity import ImageIdentity
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import Kallsyms
from symbolizer.sources.local_files import LocalFiles
from symbolizer.sources.source import Found, Missing
from tests.file_leases import leased

# asm-generic/ioctls.h: of a pseudoterminal, the lock of its other end and that one's number.
_TIOCSPTLCK = 0x40045431
_TIOCGPTN = 0x80045430


def identity(path: Path | str, build_id: bytes = b"", content_key: str = "") -> ImageIdentity:
    return ImageIdentity(
        build_id.hex() or content_key or f"path:{path}", Path(path).name, str(path), build_id, content_key
    )


def build_id(path: Path) -> bytes:
    return ElfFile(path.read_bytes()).build_id


def opened(path: Path) -> Found:
    content = OpenedFile(path)
    return Found(content, ElfFile(content), str(path))


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    return LocalFiles(debug_roots=[tmp_path / "debug"])


def test_a_program_is_found_where_it_ran(programs, files: LocalFiles) -> None:
    found = files.executable(identity(programs.pie, build_id(programs.pie)))
    assert isinstance(found, Found)
    with found.content:
        assert found.elf.build_id == build_id(programs.pie)


def test_a_program_that_was_replaced_is_not_taken_for_the_old_one(programs, files: LocalFiles) -> None:
    missing = files.executable(identity(programs.pie, b"\x01" * 20))
    assert isinstance(missing, Missing)
    assert "another build" in missing.reason


def test_another_machines_program_is_found_by_its_build_id(
    programs, files: LocalFiles, tmp_path: Path
) -> None:
    wanted = build_id(programs.pie)
    path = tmp_path / "debug" / ".build-id" / wanted.hex()[:2] / wanted.hex()[2:]
    path.parent.mkdir(parents=True)
    path.write_bytes(programs.pie.read_bytes())
    found = files.executable(identity("/srv/app/bin/app", wanted))
    assert isinstance(found, Found)
    with found.content:
        assert found.origin == str(path)
    other = programs.compiled("third", "-Wl,--build-id=0x0123456789")
    path.write_bytes(other.read_bytes())
    missing = files.executable(identity("/srv/app/bin/app", wanted))
    assert isinstance(missing, Missing)
    assert "/srv/app/bin/app" in missing.reason


@pytest.mark.parametrize("ending", ["", ".debug"])
def test_another_kernel_is_known_by_its_vmlinux(files: LocalFiles, tmp_path: Path, ending: str) -> None:
    kernel_id = b"\x05" * 20
    path = tmp_path / "debug" / ".build-id" / "05" / f"{'05' * 19}{ending}"
    path.parent.mkdir(parents=True)
    functions = [
        Symbol("_stext", 0x1000, 0),
        Symbol("do_syscall", 0x1000, 64),
        Symbol("vfs_read", 0x1040, 32),
    ]
    path.write_bytes(elf_file(kernel_id, functions))
    found = files.kernel(KernelIdentity(kernel_id))
    assert isinstance(found, Kallsyms)
    table = found.kernel
    offsets = FileOffsets(np.array([0, 63, 64, 95, 96], np.uint64))
    names = [table.names[index].decode() if index >= 0 else "" for index in table.find(offsets)]
    assert names == ["do_syscall", "do_syscall", "vfs_read", "vfs_read", ""]


def test_a_vmlinux_without_a_start_or_of_another_build_is_of_no_use(
    files: LocalFiles, tmp_path: Path
) -> None:
    path = tmp_path / "debug" / ".build-id" / "05" / ("05" * 19)
    path.parent.mkdir(parents=True)
    path.write_bytes(elf_file(b"\x05" * 20, [Symbol("vfs_read", 0x1000, 32)]))
    missing = files.kernel(KernelIdentity(b"\x05" * 20))
    assert isinstance(missing, Missing)
    assert "_stext" in missing.reason
    path.write_bytes(elf_file(b"\x06" * 20, [Symbol("_stext", 0x1000, 0), Symbol("vfs_read", 0x1000, 32)]))
    assert isinstance(files.kernel(KernelIdentity(b"\x05" * 20)), Missing)


def test_without_a_build_id_the_content_decides(programs, files: LocalFiles) -> None:
    import hashlib

    anonymous = programs.compiled("anonymous", "-Wl,--build-id=none")
    digest = hashlib.sha256(anonymous.read_bytes()).hexdigest()
    found = files.executable(identity(anonymous, content_key=f"sha256:{digest}"))
    assert isinstance(found, Found)
    found.content.close()
    assert isinstance(files.executable(identity(anonymous, content_key="sha256:" + "0" * 64)), Missing)
    assert isinstance(files.executable(identity(anonymous, content_key="go:")), Missing)
    assert isinstance(files.executable(identity(anonymous)), Missing)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "relative",
        "/proc/self/exe",
        "/sys/kernel/notes",
        "/dev/zero",
        "/srv/../proc/self/exe",
        "//proc/self/exe",
        "/no/such/file",
        "/tmp",
        "/a\0b",
    ],
)
def test_what_is_no_image_is_missing(files: LocalFiles, path: str) -> None:
    assert isinstance(files.executable(identity(path, b"\x01" * 20)), Missing)


@pytest.mark.parametrize(
    "path", ["/proc/self/exe", "/srv/../proc/self/exe", "//proc/self/exe", "/./proc/self/exe", "/dev/zero"]
)
def test_what_is_only_to_be_touched_by_the_kernel_is_not_opened(files: LocalFiles, path: str) -> None:
    own = ElfFile(Path("/proc/self/exe").read_bytes())
    missing = files.executable(identity(path, own.build_id or b"\x01" * 20))
    assert isinstance(missing, Missing)
    assert "not a file path" in missing.reason


def test_a_fifo_does_not_block(files: LocalFiles, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert isinstance(files.executable(identity(tmp_path / "fifo", b"\x01" * 20)), Missing)


def test_a_lease_on_a_program_costs_that_program(programs, files: LocalFiles) -> None:
    wanted = build_id(programs.pie)
    path = programs.folder / "leased"
    path.write_bytes(programs.pie.read_bytes())
    with leased(path):
        missing = files.executable(identity(path, wanted))
        assert isinstance(missing, Missing)
        assert missing.reason == f"Cannot read {path}: another process holds a lease on it."
        assert isinstance(files.executable(identity(programs.pie, wanted)), Found)
    assert isinstance(files.executable(identity(path, wanted)), Found)


def test_a_lease_on_a_debug_file_costs_its_lines(split, files: LocalFiles) -> None:
    program, debug = split
    wanted = identity(program, build_id(program))
    (program.parent / debug.name).write_bytes(debug.read_bytes())
    with opened(program).content as content:
        executable = Found(content, ElfFile(content), str(program))
        with leased(program.parent / debug.name):
            assert isinstance(files.debug_file(wanted, executable), Missing)
        assert isinstance(files.debug_file(wanted, executable), Found)


def test_a_device_is_not_opened() -> None:
    """Some do something when they are; a terminal hangs up when whoever had it open closes it."""
    master = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)
    try:
        fcntl.ioctl(master, _TIOCSPTLCK, bytes(4))
        number = int.from_bytes(fcntl.ioctl(master, _TIOCGPTN, bytes(4)), sys.byteorder)
        with pytest.raises(FileNotFoundError, match="not a regular file"):
            OpenedFile(Path(f"/dev/pts/{number}"))
        hung_up = select.poll()
        hung_up.register(master, 0)
        assert hung_up.poll(0) == []
        os.close(os.open(f"/dev/pts/{number}", os.O_RDONLY | os.O_NOCTTY))
        assert hung_up.poll(0) == [(master, select.POLLHUP)]
    finally:
        os.close(master)


@pytest.fixture
def split(programs, tmp_path: Path) -> tuple[Path, Path]:
    """A stripped program in a folder of its own, linked to a debug file that lies elsewhere."""
    debug = programs.folder / "split.debug"
    programs.run("objcopy", "--only-keep-debug", str(programs.pie), str(debug))
    program = tmp_path / "bin" / "split"
    program.parent.mkdir()
    programs.run("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", str(programs.pie), str(program))
    return program, debug


def by_build_id(program: Path, root: Path) -> Path:
    hex_id = build_id(program).hex()
    return root / ".build-id" / hex_id[:2] / f"{hex_id[2:]}.debug"


@pytest.mark.parametrize("place", ["build-id", "beside", ".debug", "below the root"])
def test_debug_files_are_found_where_gdb_finds_them(
    split: tuple[Path, Path], files: LocalFiles, tmp_path: Path, place: str
) -> None:
    program, debug = split
    target = {
        "build-id": by_build_id(program, tmp_path / "debug"),
        "beside": program.parent / "split.debug",
        ".debug": program.parent / ".debug" / "split.debug",
        "below the root": tmp_path / "debug" / program.parent.relative_to("/") / "split.debug",
    }[place]
    executable = opened(program)
    with executable.content:
        who = identity(program, build_id(program))
        assert isinstance(files.debug_file(who, executable), Missing)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(debug.read_bytes())
        found = files.debug_file(who, executable)
        assert isinstance(found, Found)
        with found.content:
            assert found.elf.has_dwarf
            assert found.origin == str(target)


def test_a_debug_file_of_another_build_is_refused(
    programs, split: tuple[Path, Path], files: LocalFiles
) -> None:
    program, _ = split
    (program.parent / "split.debug").write_bytes(programs.fixed.read_bytes())
    executable = opened(program)
    with executable.content:
        missing = files.debug_file(identity(program, build_id(program)), executable)
    assert isinstance(missing, Missing)
    assert "another build" in missing.reason


def test_without_a_build_id_the_checksum_decides(programs, files: LocalFiles, tmp_path: Path) -> None:
    whole = programs.compiled("unnamed", "-Wl,--build-id=none")
    debug = tmp_path / "unnamed.debug"
    programs.run("objcopy", "--only-keep-debug", str(whole), str(debug))
    program = tmp_path / "unnamed"
    programs.run("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", str(whole), str(program))
    executable = opened(program)
    with executable.content:
        who = identity(program, content_key="sha256:any")
        found = files.debug_file(who, executable)
        assert isinstance(found, Found)
        found.content.close()
        debug.write_bytes(debug.read_bytes() + b"\0")
        assert isinstance(files.debug_file(who, executable), Missing)


def test_a_file_that_shrinks_gives_short_reads(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    with OpenedFile(path) as content:
        os.truncate(path, 10)
        assert content[5:50] == b"x" * 5
        assert len(content) == 100
