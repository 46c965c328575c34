"""GIVEN control groups with quotas WHEN a pool asks for its size THEN it is no larger than they let it work."""

import os
from pathlib import Path

import pytest

from services.process_setup.cpus import usable_cpus


@pytest.fixture(autouse=True)
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))


def _cpus(tmp_path: Path, group: str | None, quotas: dict[str, str]) -> int:
    membership = tmp_path / "membership"
    if group is not None:
        membership.write_text(f"1:name=systemd:/elsewhere\n0::{group}\n")
    for folder, quota in quotas.items():
        (tmp_path / "root" / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / "root" / folder / "cpu.max").write_text(f"{quota}\n")
    return usable_cpus(tmp_path / "root", membership)


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ("200000 100000", 2),
        ("250000 100000", 3),
        ("20000 100000", 1),
        ("max 100000", 8),
        ("9900000 100000", 8),
    ],
)
def test_a_containers_quota_counts(tmp_path: Path, quota: str, expected: int) -> None:
    assert _cpus(tmp_path, "/", {".": quota}) == expected


def test_those_above_count_too(tmp_path: Path) -> None:
    quotas = {"a/b": "max 100000", "a": "300000 100000", "other": "100000 100000"}
    assert _cpus(tmp_path, "/a/b", quotas) == 3


@pytest.mark.parametrize("group", ["/not/seen/here", "/../../above", None])
def test_of_a_group_that_is_not_seen_the_mounted_one_counts(tmp_path: Path, group: str | None) -> None:
    assert _cpus(tmp_path, group, {".": "200000 100000"}) == 2


@pytest.mark.parametrize("quota", ["", "nonsense", "100000 0"])
def test_what_says_nothing_limits_nothing(tmp_path: Path, quota: str) -> None:
    assert _cpus(tmp_path, "/", {".": quota}) == 8
