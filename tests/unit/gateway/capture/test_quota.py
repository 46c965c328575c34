"""GIVEN a capture that grows WHEN it has used what it may THEN the quota says which limit it was."""

import os
import subprocess
import sys
from pathlib import Path

from gateway.capture.quota import Quota, resident_memory
from gateway.settings import Limits

ROOT = Path(__file__).parents[4]
PAGE = os.sysconf("SC_PAGESIZE")


def statm(folder: Path, *, resident: int, shared: int) -> Path:
    file = folder / "statm"
    file.write_text(f"99999 {resident} {shared} 1 0 500 0\n")
    return file


def test_own_memory_is_what_is_resident_and_not_shared(tmp_path):
    assert resident_memory(statm(tmp_path, resident=1000, shared=300)) == 700 * PAGE


def test_own_memory_grows_by_what_is_allocated():
    before = resident_memory()
    block = bytearray(64 << 20)
    assert resident_memory() - before >= 60 << 20
    del block


def test_each_limit_is_named_when_it_is_reached(tmp_path):
    limits = Limits(max_bytes=1 << 20, max_memory_bytes=700 * PAGE)
    small = Quota(limits, statm(tmp_path, resident=999, shared=300))
    assert small.exceeded((1 << 20) - 1) == ""
    assert "--max-mib" in small.exceeded(1 << 20)
    large = Quota(limits, statm(tmp_path, resident=1000, shared=300))
    assert "--max-memory-mib" in large.exceeded(0)


def test_a_process_that_keeps_most_of_it_is_to_be_replaced(tmp_path):
    limits = Limits(max_memory_bytes=1000 * PAGE)
    assert not Quota(limits, statm(tmp_path, resident=800, shared=51)).is_nearly_exceeded
    assert Quota(limits, statm(tmp_path, resident=800, shared=50)).is_nearly_exceeded


GROWING = """
import sys
from gateway.capture.quota import limit_data
from gateway.settings import Limits
limit_data(Limits(max_memory_bytes=16 << 20))
held = []
try:
    while len(held) < 4096:
        held.append(bytearray(1 << 20))
except MemoryError:
    sys.exit(len(held) > 400)
sys.exit(2)
"""


def test_growth_that_nothing_looks_at_fails_far_above_the_limit():
    """Allocations fail and nothing is killed: what was being done is refused, the process lives."""
    ended = subprocess.run([sys.executable, "-c", GROWING], cwd=ROOT, check=False)
    assert ended.returncode == 1
