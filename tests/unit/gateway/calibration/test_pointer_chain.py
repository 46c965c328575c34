"""GIVEN a chain through memory WHEN it is followed THEN every link is loaded once, far from the one before."""

import ctypes
import itertools
import os
import subprocess
import sys

import pytest

from gateway.calibration.pointer_chain import LINKS, PIECE_BYTES, REGION_BYTES, SPACING, Chain
from gateway.calibration.workloads import Workload, float_step, integer_step


def links(chain: Chain, start: int) -> list[int]:
    """Addresses from a start on, as the chain has them."""
    found = []
    while start:
        found.append(start)
        end, start = (ctypes.c_uint64 * 2).from_address(start)
        assert not end, "the library would stop here"
    return found


def test_each_piece_is_followed_from_its_start_to_its_end_and_holds_every_link_once():
    chain = Chain(2 * PIECE_BYTES + 12345)
    assert chain.size == 2 * PIECE_BYTES
    assert len(chain.starts) == 2
    for piece, start in enumerate(chain.starts):
        found = links(chain, start)
        begin = chain.base + piece * PIECE_BYTES
        assert sorted(found) == list(range(begin, begin + PIECE_BYTES, SPACING))
        assert len(found) == LINKS
        regions = [(address - begin) // REGION_BYTES for address in found]
        assert regions == sorted(regions), "addresses would have to be looked up over and over"
        neighbours = sum(abs(after - before) == SPACING for before, after in itertools.pairwise(found))
        assert neighbours < LINKS / 100, "a CPU would guess what comes next"


def test_making_it_can_be_broken_off():
    asked = []

    def between() -> None:
        asked.append(1)
        if len(asked) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Chain(PIECE_BYTES, between)
    assert len(asked) == 3


def test_the_library_follows_it_to_the_end():
    chain = Chain(PIECE_BYTES)
    step = chain.follower()
    assert (step(), step()) == (LINKS, LINKS)
    # Where the library looks for an address that lies in the last link's chunk it says so: it came as far as that.
    last = links(chain, chain.starts[0])[-1]
    ctypes.c_uint64.from_address(last).value = (1 << 64) - 1
    described = (ctypes.c_uint64 * 18)(4096, chain.starts[0])
    follow = ctypes.CDLL(None)._obstack_allocated_p
    follow.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    assert follow(described, last + 1) == 1
    assert follow(described, 1) == 0


def test_two_followers_start_apart_and_readers_see_zeros_only():
    chain = Chain(4 * PIECE_BYTES)
    assert chain._rotated(0.5) == chain.starts[2:] + chain.starts[:2]
    assert chain._rotated(0.99) == chain.starts
    chain.clear()
    read = chain.reader(0.5)
    assert [read() for _ in range(9)] == [PIECE_BYTES] * 9
    assert not any(ctypes.string_at(chain.base, chain.size))


def test_memory_goes_back_when_nobody_needs_it():
    def mapped() -> int:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - no shorter
            return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")

    before = mapped()
    chain = Chain(16 * PIECE_BYTES)
    step = chain.follower()
    assert mapped() >= before + chain.size
    del chain, step
    assert mapped() < before + 8 * PIECE_BYTES


@pytest.mark.parametrize("make", [integer_step, float_step])
def test_work_is_work(make):
    step = make()
    assert step() == step() > 0
    assert len({work.value for work in Workload}) == 3


_UNDER_MDWE = """
import ctypes, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN: what systemd sets
    sys.exit(77)
import mmap
try:
    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
except PermissionError:
    from gateway.calibration.pointer_chain import PIECE_BYTES, Chain
    from gateway.calibration.workloads import float_step, integer_step
    chain = Chain(PIECE_BYTES)
    print(all(step() > 0 for step in (chain.follower(), integer_step(), float_step())))
"""


def test_nothing_needs_memory_that_is_written_and_executed():
    """The unit has MemoryDenyWriteExecute=yes."""
    ran = subprocess.run([sys.executable, "-c", _UNDER_MDWE], capture_output=True, text=True, check=False)
    if ran.returncode == 77:
        pytest.skip("this kernel is older than Linux 6.3")
    assert ran.stdout == "True\n", ran.stderr
