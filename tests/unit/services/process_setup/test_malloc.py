"""GIVEN memory that was used and freed WHEN it is given back THEN the system has it again."""

import subprocess
import sys

import pytest

from services.process_setup import malloc

PROGRAM = """
import threading
from pathlib import Path
from services.process_setup import malloc

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def use(left):
    kept = [bytearray(50_000) for _ in range(600)]  # 30 MB in pieces that come from an arena
    last = bytearray(50_000)  # above them: an arena that ends with it cannot shrink by itself
    del kept
    left.append(last)

def in_turn(number, left):
    alive.wait()  # all live at once, so none takes over the arena of one that has ended
    with turns[number]:
        use(left)
    turns[number + 1].release()
    done.wait()

malloc.share_arenas()
alive, done = threading.Barrier(6), threading.Barrier(7)
turns = [threading.Semaphore(number == 0) for number in range(7)]
before, left = resident(), []
for number in range(6):
    threading.Thread(target=in_turn, args=(number, left)).start()
turns[6].acquire()
used = resident() - before
malloc.trim_malloc()
print(used, resident() - before)
done.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_threads_share_what_one_of_them_freed_and_it_can_be_given_back() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    used, left = map(int, ended.stdout.split())
    assert used < 90 << 20, "six arenas would keep 30 MB each"
    assert left < 10 << 20


BY_THE_CLOCK = """
import threading, time
from pathlib import Path
from services.process_setup import malloc

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

malloc.share_arenas()
before = resident()
kept = [bytearray(50_000) for _ in range(600)]
last = bytearray(50_000)
del kept
assert resident() - before > 20 << 20
malloc.trim_periodically(0.01)
while resident() - before > 10 << 20:
    time.sleep(0.01)
print("given back")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_a_process_that_works_by_the_clock_gives_back_by_itself() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", BY_THE_CLOCK], capture_output=True, text=True, check=True, timeout=60
    )
    assert ended.stdout == "given back\n"


REUSED = """
import resource, sys
from services.process_setup import malloc

if sys.argv[1] == "reused":
    malloc.reuse_arrays()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

bytearray(40 << 20)
before = faults()
for _ in range(20):
    bytearray(40 << 20)
print(faults() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_arrays_are_made_in_what_others_left() -> None:
    new, reused = (
        int(subprocess.run([sys.executable, "-c", REUSED, how], capture_output=True, check=True).stdout)
        for how in ("new", "reused")
    )
    assert new > 20 * 20, "each is new pages of the system's, of 2 MiB at most"
    assert reused < new / 4


REUSED_AND_GIVEN_BACK = """
from pathlib import Path
from services.process_setup import malloc

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

malloc.share_arenas()
malloc.reuse_arrays()
before = resident()
array = bytearray(300 << 20)
del array
kept = resident() - before
malloc.trim_malloc()
print(kept, resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's allocator")
def test_what_arrays_left_is_given_back() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", REUSED_AND_GIVEN_BACK], capture_output=True, text=True, check=True
    )
    kept, left = map(int, ended.stdout.split())
    assert kept > 200 << 20
    assert left < 80 << 20


_THRESHOLD, _TRIM, _PAD = -3, -1, -2


class _Mallopt:
    """A C library's that takes thresholds up to a bound, and anything else."""

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self.taken: list[tuple[int, int]] = []

    def __call__(self, what: int, size: int) -> int:
        if what == _THRESHOLD and size > self._largest:
            return 0
        self.taken.append((what, size))
        return 1


@pytest.mark.parametrize("largest", [1 << 30, 32 << 20])
def test_the_threshold_is_the_largest_that_the_library_takes(
    monkeypatch: pytest.MonkeyPatch, largest: int
) -> None:
    library = _Mallopt(largest)
    monkeypatch.setattr(malloc, "_function", lambda *_: library)
    malloc.reuse_arrays()
    assert library.taken[0] == (_THRESHOLD, largest)
    assert [what for what, _ in library.taken] == [_THRESHOLD, _TRIM, _PAD]


def test_without_a_threshold_the_library_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _Mallopt(0)
    monkeypatch.setattr(malloc, "_function", lambda *_: library)
    malloc.reuse_arrays()
    assert library.taken == []
