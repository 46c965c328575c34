"""GIVEN a map that its process goes on writing WHEN it is read again THEN only what is new is read."""

import os
from pathlib import Path

import pytest

from gateway.jit import perf_map
from gateway.jit.perf_map import Allowance, PerfMap


def opened(path: Path, allowance: Allowance | None = None) -> PerfMap:
    return PerfMap(os.open(path, os.O_RDONLY), allowance or Allowance())


def test_what_was_appended_is_read_once(tmp_path: Path):
    path = tmp_path / "perf-1.map"
    path.write_bytes(b"1000 10 first\n")
    allowance = Allowance()
    its_map = opened(path, allowance)
    assert its_map.refresh({0x1000, 0x1010}) == {0x1000}
    assert its_map.refresh({0x1000, 0x1010}) == set()
    spent = perf_map.MAX_BYTES - allowance.bytes
    with path.open("ab") as file:
        file.write(b"1000 8 second\n")
    assert its_map.name(0x1000) == "first"
    assert its_map.refresh({0xFFF, 0x1000, 0x1007, 0x1008}) == {0x1000, 0x1007}
    assert perf_map.MAX_BYTES - allowance.bytes == spent + len(b"1000 8 second\n")
    assert (its_map.name(0x1000), its_map.name(0x1008), its_map.name(0x1010)) == ("second", "first", "")
    its_map.close()
    its_map.close()


def test_a_map_that_was_written_anew_is_read_anew(tmp_path: Path):
    path = tmp_path / "perf-1.map"
    path.write_bytes(b"1000 10 first\n2000 10 second\n")
    allowance = Allowance()
    its_map = opened(path, allowance)
    its_map.refresh()
    for text in (b"3000 10 short\n", b"4000 10 longer\n" * 5):
        path.write_bytes(text)  # the same inode
        assert its_map.refresh({0x2000}) == {0x2000}
        assert its_map.name(0x2000) == ""
    assert its_map.name(0x4000) == "longer"
    assert allowance.entries == perf_map.MAX_ENTRIES - 5
    its_map.close()


def test_a_map_is_readable_after_its_process_removed_it(tmp_path: Path):
    path = tmp_path / "perf-1.map"
    path.write_bytes(b"1000 10 first\n")
    its_map = opened(path)
    path.unlink()
    its_map.refresh()
    assert its_map.name(0x1000) == "first"
    its_map.close()


def test_of_a_large_map_the_newest_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(perf_map, "MAX_MAP_BYTES", 100)
    path = tmp_path / "perf-1.map"
    path.write_bytes(b"".join(b"%x 10 f\n" % n for n in range(0x1000, 0x2000, 0x10)))
    its_map = opened(path)
    its_map.refresh()
    assert its_map.truncated
    assert its_map.name(0x1000) == ""
    assert its_map.name(0x1FF0) == "f"
    its_map.close()


def test_all_maps_together_have_a_limit(tmp_path: Path):
    path = tmp_path / "perf-1.map"
    path.write_bytes(b"".join(b"%x 10 f\n" % n for n in range(0x1000, 0x2000, 0x10)))
    by_bytes, by_entries = Allowance(bytes=200), Allowance(entries=7)
    for allowance in (by_bytes, by_entries):
        its_map = opened(path, allowance)
        its_map.refresh()
        assert its_map.truncated
        its_map.close()
    assert by_bytes.bytes == 0
    assert by_entries.entries == 0


def test_what_all_maps_together_may_cost_has_a_limit(tmp_path: Path):
    """A file of line ends only, one that is written anew again and again, and names asked for without end."""
    path = tmp_path / "perf-1.map"
    path.write_bytes(b"\n" * 5000)
    allowance = Allowance(steps=1000)
    empty = opened(path, allowance)
    empty.refresh()
    assert empty.truncated
    assert allowance.steps == 0
    empty.close()

    path.write_bytes(b"1000 10 f\n" * 100)
    allowance = Allowance(steps=1000)
    rewritten = opened(path, allowance)
    rewritten.refresh()
    assert allowance.steps == 800
    for round_ in range(6):
        path.write_bytes((b"1000 10 %d\n" % round_) * (101 + round_))
        rewritten.refresh()
    assert rewritten.truncated
    assert allowance.steps < 100
    rewritten.close()

    path.write_bytes(b"1000 10 f\n")
    asked = opened(path, Allowance(steps=100))
    asked.refresh()
    names = [asked.name(0x1000 + n % 16) for n in range(100)]
    assert names[0] == "f"
    assert names[-1] == ""
    assert asked.truncated
    asked.close()
