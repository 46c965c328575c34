"""GIVEN a file WHEN a daemon ends and another begins THEN what was remembered is still known."""

import os
from pathlib import Path

import pytest

from gateway.errors import UnsafeAddress
from gateway.served_visits import ServedVisits
from gateway.shared_memory import shared_memory
from gateway.symbols.seen_builds import SeenBuild, SeenBuilds


def test_a_visit_is_refused_by_the_next_daemon_too(tmp_path: Path):
    first = ServedVisits(tmp_path / "visits")
    first.remember(b"a" * 16)
    first.finish()
    first.note_active(2)
    second = ServedVisits(tmp_path / "visits")
    assert b"a" * 16 in second
    assert b"b" * 16 not in second
    # The other daemon's captures died with it, and it counts its own.
    assert (second.finished, second.active, second.is_working) == (0, 0, False)
    second.remember(b"b" * 16)
    assert b"a" * 16 in ServedVisits(tmp_path / "visits")


def test_a_binary_seen_is_found_by_the_next_daemon_too(tmp_path: Path):
    SeenBuilds(file=tmp_path / "sightings").note("ab" * 20, 7, "/bin/x")
    assert SeenBuilds(file=tmp_path / "sightings").find("ab" * 20) == SeenBuild(7, "/bin/x")


def test_nobody_else_can_read_it(tmp_path: Path):
    shared_memory(100, tmp_path / "x")
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o600


def test_what_has_another_size_begins_anew(tmp_path: Path):
    (tmp_path / "visits").write_bytes(b"\xff" * 100)
    served_visits = ServedVisits(tmp_path / "visits")
    assert b"\xff" * 16 not in served_visits
    served_visits.remember(b"c" * 16)
    assert b"c" * 16 in served_visits


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_file_holds_breaks_nothing(tmp_path: Path, seed: int):
    import random

    ServedVisits(tmp_path / "visits")
    SeenBuilds(file=tmp_path / "sightings").note("ab", 7, "/bin/x")
    rng = random.Random(seed)
    for name in ("visits", "sightings"):
        (tmp_path / name).write_bytes(rng.randbytes((tmp_path / name).stat().st_size))
    served_visits, seen_builds = ServedVisits(tmp_path / "visits"), SeenBuilds(file=tmp_path / "sightings")
    served_visits.remember(b"d" * 16)
    seen_builds.note("cd", 8, "/bin/y")
    assert b"d" * 16 in served_visits
    assert seen_builds.find("cd") == SeenBuild(8, "/bin/y")
    assert seen_builds.find("ab") is None


def test_a_link_is_not_followed(tmp_path: Path):
    (tmp_path / "elsewhere").write_bytes(b"precious")
    (tmp_path / "visits").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        ServedVisits(tmp_path / "visits")
    assert (tmp_path / "elsewhere").read_bytes() == b"precious"


def test_a_file_of_somebody_else_is_refused(tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    (tmp_path / "visits").write_bytes(b"")
    os.chown(tmp_path / "visits", 65534, 65534)
    with pytest.raises(UnsafeAddress, match="does not belong to this user"):
        ServedVisits(tmp_path / "visits")


def test_without_a_file_nothing_is_shared_by_two_daemons():
    ServedVisits().remember(b"a" * 16)
    assert b"a" * 16 not in ServedVisits()
