"""GIVEN maps that grow WHEN names are asked for THEN each is what the map said at that drain."""

import os
from pathlib import Path

import pytest

from gateway.errors import AccessDenied, ProcessGone
from gateway.jit.jit_names import JitNames
from gateway.jit.map_file import MapRefused


class Machine:
    """Processes whose maps lie in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened: list[int] = []

    def write(self, pid: int, text: str) -> None:
        with (self.folder / str(pid)).open("a") as file:
            file.write(text)

    def open(self, pid: int) -> int | None:
        self.opened.append(pid)
        try:
            return os.open(self.folder / str(pid), os.O_RDONLY)
        except FileNotFoundError:
            return None


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_name_changes_when_the_map_says_so(machine: Machine):
    names = JitNames(open_live=machine.open)
    machine.write(7, "1000 10 old\n2000 10 other\n")
    assert names.name(7, None, 0x1008, 1) == "old"
    assert names.name(7, None, 0x2000, 1) == "other"
    machine.write(7, "1000 10 new\n")
    assert names.refresh(7, 1) == set(), "once a drain"
    assert names.refresh(7, 2) == {0x1008}
    assert names.name(7, None, 0x1008, 2) == "new"
    assert machine.opened == [7]
    names.close()


def test_a_map_may_come_later_and_is_looked_for_ever_more_seldom(machine: Machine):
    names = JitNames(open_live=machine.open)
    assert names.name(7, None, 0x1000, 1) == ""
    for drain in range(2, 100):
        assert names.refresh(7, drain) == set()
    assert 5 <= len(machine.opened) <= 12
    machine.write(7, "1000 10 late\n")
    assert any(names.refresh(7, drain) == {0x1000} for drain in range(100, 120))
    assert names.name(7, None, 0x1000, 120) == "late"
    names.close()


def test_another_program_under_the_same_number_has_other_names(machine: Machine):
    names = JitNames(open_live=machine.open)
    machine.write(7, "1000 10 first\n")
    assert names.name(7, None, 0x1000, 1) == "first"
    names.forget(7)
    (machine.folder / "7").unlink()
    assert names.name(7, None, 0x1000, 1) == ""
    names.close()


def test_nothing_stays_open(machine: Machine):
    before = set(Path("/proc/self/fd").iterdir())
    names = JitNames(open_live=machine.open)
    for pid in range(200):
        machine.write(pid, "1000 10 f\n")
        names.name(pid, None, 0x1000, 1)
    assert 100 < len(set(Path("/proc/self/fd").iterdir()) - before) < 150
    names.close()
    assert set(Path("/proc/self/fd").iterdir()) == before
    assert "72 processes were read only partly, or not at all" in " ".join(names.notes())


def test_what_could_not_be_read_is_said():
    def refuse(pid: int) -> int | None:
        if pid < 10:
            raise MapRefused("it is odd")
        if pid == 10:
            raise AccessDenied("no")
        raise ProcessGone("gone")

    names = JitNames(open_live=refuse)
    for pid in (*range(6), 10, 11):
        assert names.name(pid, None, 0x1000, 1) == ""
    said = "\n".join(names.notes())
    assert "process 0 was not used: it is odd" in said
    assert "2 other processes" in said
    assert "no access to the perf maps of 1 processes" in said
    assert "11" not in said
