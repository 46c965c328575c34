import ctypes
import mmap
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ProcessGone
from gateway.process import maps
from gateway.process.maps import MAX_MAPPINGS, Vma, is_anonymous, parse_maps, read_executable_maps

TEXT = rb"""55d0c0a00000-55d0c0a01000 r--p 00000000 fe:00 1311 /usr/bin/cat
55d0c0a01000-55d0c0a06000 r-xp 00001000 fe:00 1311 /usr/bin/cat
7f0000000000-7f0000100000 rwxp 00000000 00:00 0
7f0000200000-7f0000201000 r-xp 00000000 fe:01 42 /tmp/a b\012c (deleted)
7f0000300000-7f0000301000 r-xs 00003000 00:01 2053 /memfd:jit (deleted)
7ffd3b5f2000-7ffd3b5f4000 r-xp 00000000 00:00 0 [vdso]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
"""


def test_the_text_of_maps():
    assert parse_maps(TEXT) == [
        Vma(0x55D0C0A01000, 0x55D0C0A06000, 0x1000, "/usr/bin/cat", b"", (0xFE, 0), 1311, deleted=False),
        Vma(0x7F0000000000, 0x7F0000100000, 0, "", b"", (0, 0), 0, deleted=False),
        Vma(0x7F0000200000, 0x7F0000201000, 0, "/tmp/a b\nc", b"", (0xFE, 1), 42, deleted=True),
        Vma(0x7F0000300000, 0x7F0000301000, 0x3000, "/memfd:jit", b"", (0, 1), 2053, deleted=True),
        Vma(0x7FFD3B5F2000, 0x7FFD3B5F4000, 0, "[vdso]", b"", (0, 0), 0, deleted=False),
        Vma(0xFFFFFFFFFF600000, 0xFFFFFFFFFF601000, 0, "[vsyscall]", b"", (0, 0), 0, deleted=False),
    ]


def test_what_has_a_file():
    assert [vma.has_file for vma in parse_maps(TEXT)] == [True, False, True, True, False, False]
    assert not Vma(0, 1, 0, "//anon", b"", (0, 0), 0, deleted=False).has_file  # perf's name for it


def test_at_most_so_many_are_taken():
    line = b"1000-2000 r-xp 00000000 00:00 0\n"
    assert len(parse_maps(line * (MAX_MAPPINGS + 10))) == MAX_MAPPINGS


@given(st.binary(max_size=200))
def test_any_text_is_parsed(text):
    parse_maps(text)
    parse_maps(b"1000-2000 r-xp " + text)


def test_a_path_cannot_pass_for_a_mapping():
    """The kernel escapes only the end of a line in it; is memory there without a file, it may be read."""
    (only,) = parse_maps(b"1000-2000 r-xp 00000000 00:27 2    /far/x\r1000-2000 r-xp 00000000 00:00 0 \n")
    assert only.inode == 2
    assert only.path.startswith("/far/x\r")


def test_memory_without_a_file_is_known_by_the_text_too(monkeypatch):
    code = next(vma for vma in read_executable_maps(os.getpid()) if vma.has_file)
    with mmap.mmap(
        -1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE
    ) as page:
        here = ctypes.addressof(ctypes.c_char.from_buffer(page))
        for _ in range(2):
            assert is_anonymous(os.getpid(), here, 8)
            assert not is_anonymous(os.getpid(), here + 4092, 8 << 40)
            assert not is_anonymous(os.getpid(), code.start, 8)
            monkeypatch.setattr(maps, "_PROCMAP_QUERY", 0xC0686612)  # as below


def test_both_ways_agree_on_this_process():
    text = parse_maps(Path("/proc/self/maps").read_bytes())
    asked = read_executable_maps(os.getpid())
    # The query does not know the page of the old vsyscalls, which is no part of the process.
    assert [replace(vma, build_id=b"") for vma in asked] == [vma for vma in text if vma.path != "[vsyscall]"]


def test_an_older_kernel_is_read_by_its_text(monkeypatch):
    # A number that no ioctl has gives ENOTTY, as PROCMAP_QUERY does before Linux 6.11.
    monkeypatch.setattr(maps, "_PROCMAP_QUERY", 0xC0686612)
    found = read_executable_maps(os.getpid())
    assert found == parse_maps(Path("/proc/self/maps").read_bytes())


def test_new_executable_memory_is_seen():
    with mmap.mmap(-1, 8192, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as memory:
        place = ctypes.c_char.from_buffer(memory)
        address = ctypes.addressof(place)
        del place
        found = [vma for vma in read_executable_maps(os.getpid()) if vma.start <= address < vma.end]
    assert len(found) == 1
    assert not found[0].build_id


def test_a_process_that_has_ended():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    with pytest.raises(ProcessGone, match=str(child.pid)):
        read_executable_maps(child.pid)


def test_a_process_without_memory_has_no_mappings():
    """A zombie answers as a kernel thread does: it has no memory of its own."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    try:
        assert read_executable_maps(child.pid) == []
    except ProcessGone:
        pass
    finally:
        child.wait()
