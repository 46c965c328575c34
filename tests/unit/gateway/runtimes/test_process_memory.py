"""Reads of another process's memory: exact, bounded, and only where they cannot block."""

import ctypes
import errno
import fcntl
import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import ProcessGone
from gateway.runtimes import process_memory
from gateway.runtimes.process_memory import CaptureBudget, OverBudget, ProcessMemory, Unreadable

TEXT = b"what a process remembers"


@pytest.fixture
def text() -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(TEXT)


def own(budget: CaptureBudget | None = None) -> ProcessMemory:
    return ProcessMemory(os.getpid(), budget or CaptureBudget())


@pytest.fixture(params=["by query", "by text"])
def memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ProcessMemory:
    if request.param == "by text":

        def unsupported(*_: object) -> None:
            raise OSError(errno.ENOTTY, "an older kernel")

        monkeypatch.setattr(fcntl, "ioctl", unsupported)
    return own()


def test_exactly_what_was_requested(memory: ProcessMemory, text: ctypes.Array[ctypes.c_char]) -> None:
    assert memory.read(ctypes.addressof(text) + 5, 9) == TEXT[5:14]


def test_unmapped_memory_and_impossible_requests_are_refused(memory: ProcessMemory) -> None:
    for address, size in ((0, 8), (4096, 8), ((1 << 63) + 8, 8), (1 << 70, 8), (-8, 8)):
        with pytest.raises(Unreadable):
            memory.read(address, size)
    for size in (-1, 1 << 30):
        with pytest.raises(Unreadable):
            memory.read(0x1000, size)


def test_a_file_is_read_only_if_the_kernel_serves_it(memory: ProcessMemory, tmp_path: Path) -> None:
    path = tmp_path / "mapped"
    path.write_bytes(TEXT.ljust(8192, b"."))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 8192) as mapped:
        pinned = ctypes.c_char.from_buffer(mapped)
        address = ctypes.addressof(pinned)
        memory._served = lambda _device: True
        memory.begin_drain()
        assert memory.read(address, len(TEXT)) == TEXT
        memory._served = lambda _device: False
        memory.begin_drain()
        with pytest.raises(Unreadable):
            memory.read(address, len(TEXT))
        del pinned


def test_the_budget_of_a_drain_is_renewed_that_of_the_capture_is_not(
    monkeypatch: pytest.MonkeyPatch, text: ctypes.Array[ctypes.c_char]
) -> None:
    monkeypatch.setattr(process_memory, "_DRAIN_READS", 3)
    memory = own(CaptureBudget(reads=5))
    address = ctypes.addressof(text)
    for _ in range(3):
        memory.read(address, 1)
    assert not memory.over_budget
    with pytest.raises(OverBudget):
        memory.read(address, 1)
    assert memory.over_budget
    memory.begin_drain()
    memory.read(address, 1)
    memory.read(address, 1)
    memory.begin_drain()
    with pytest.raises(OverBudget):
        memory.read(address, 1)


def test_bytes_count_as_well(text: ctypes.Array[ctypes.c_char]) -> None:
    memory = own(CaptureBudget(size=10))
    memory.read(ctypes.addressof(text), 8)
    with pytest.raises(OverBudget):
        memory.read(ctypes.addressof(text), 8)


def test_decoding_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_memory, "_DRAIN_WORK", 100)
    memory = own()
    memory.charge(100)
    with pytest.raises(OverBudget):
        memory.charge(1)
    assert memory.over_budget
    memory.begin_drain()
    memory.charge(100)


def test_a_process_that_ended_is_no_longer_read() -> None:
    code = "print(id(0), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        address = int(child.stdout.readline())
        memory = ProcessMemory(child.pid, CaptureBudget())
        assert len(memory.read(address, 16)) == 16
        child.kill()
    with pytest.raises(Unreadable):
        memory.read(address, 16)
    memory.close()


def test_a_closed_one_reads_nothing_and_an_ended_process_cannot_be_opened(
    text: ctypes.Array[ctypes.c_char],
) -> None:
    memory = own()
    memory.close()
    with pytest.raises(Unreadable):
        memory.read(ctypes.addressof(text), 8)
    with subprocess.Popen(["true"]) as child:
        child.wait()
        pid = child.pid
    with pytest.raises(ProcessGone):
        ProcessMemory(pid, CaptureBudget())
