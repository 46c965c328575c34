"""GIVEN hierarchies as distributions mount them WHEN a process's control group is looked for THEN it is what perf counts."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.containers.cgroup_path import choose_cgroup
from gateway.perf.cgroup_hierarchy import (
    Hierarchy,
    disjoint_groups,
    parse_mounts,
    perf_hierarchy,
    printable_path,
)

UNIFIED = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime,nsdelegate 0 0\n"
HYBRID = (
    "tmpfs /sys/fs/cgroup tmpfs ro,mode=755 0 0\n"
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid 0 0\n"
    "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0\n"
    "cgroup /sys/fs/cgroup/perf\\040event cgroup rw,relatime,perf_event 0 0\n"
)
OF_A_PROCESS = (
    "12:perf_event:/docker/ab\n3:cpu,cpuacct:/other\n1:name=systemd:/init.scope\n0::/system.slice/d.service\n"
)


def test_version_1_of_perf_event_comes_before_version_2():
    assert parse_mounts(HYBRID) == Hierarchy(Path("/sys/fs/cgroup/perf event"), "perf_event")
    assert parse_mounts(UNIFIED) == Hierarchy(Path("/sys/fs/cgroup"), "")
    assert parse_mounts("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n") is None


def test_the_line_of_its_own_hierarchy_is_read():
    assert Hierarchy(Path("/x"), "perf_event").parse(OF_A_PROCESS) == "/docker/ab"
    assert Hierarchy(Path("/x"), "").parse(OF_A_PROCESS) == "/system.slice/d.service"


def test_a_group_outside_our_namespace_is_none():
    assert Hierarchy(Path("/x"), "").parse("0::/../../kubepods/pod1\n") == ""


def test_a_group_is_opened_below_the_mount_and_nowhere_else(tmp_path: Path):
    (tmp_path / "a/b").mkdir(parents=True)
    descriptor = Hierarchy(tmp_path, "").open("/a/b")
    try:
        assert os.fstat(descriptor).st_ino == (tmp_path / "a/b").stat().st_ino
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    "name", [b"a\xff\xfe", "a\u2028b".encode(), b"a\x0bb", b"a\x1cb", b"a\rb", b"a\xed\xb2\x80"]
)
def test_a_group_of_any_name_is_opened_by_its_bytes_and_shown_as_text(tmp_path: Path, name: bytes):
    (tmp_path / "mount" / os.fsdecode(name)).mkdir(parents=True)
    (tmp_path / "7").mkdir()
    (tmp_path / "7/cgroup").write_bytes(b"0::/" + name + b"\n")
    hierarchy = Hierarchy(tmp_path / "mount", "")
    path = hierarchy.path_of(7, tmp_path)
    os.close(hierarchy.open(path))
    assert printable_path(path) == choose_cgroup("0::/" + name.decode("utf-8", "replace") + "\n")
    printable_path(path).encode()


def test_a_process_that_is_gone_or_a_proc_that_is_closed_is_none(tmp_path: Path):
    assert Hierarchy(tmp_path, "").path_of(1, tmp_path) == ""
    assert perf_hierarchy(tmp_path) is None


parts = st.lists(st.sampled_from("abc"), max_size=4).map(lambda names: "/" + "/".join(names))


@given(st.lists(parts, max_size=12), st.integers(0, 6))
def test_of_the_most_run_none_lies_in_another(ranked: list[str], most: int):
    kept = disjoint_groups(ranked, most)
    assert len(kept) <= most
    assert "/" not in kept
    assert all(one == other or not one.startswith(other + "/") for one in kept for other in kept)
    assert len(set(kept)) == len(kept)
    assert kept == [path for path in dict.fromkeys(ranked) if path in kept], "in the order of their rank"
    first = next((path for path in ranked if path != "/"), None)
    assert not most or first is None or kept[0] == first


@given(st.text(max_size=300))
def test_any_text_is_read(text: str):
    parse_mounts(text)
    path = Hierarchy(Path("/x"), "").parse(text)
    assert path == "" or path.startswith("/")
