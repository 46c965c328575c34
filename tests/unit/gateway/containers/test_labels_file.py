"""The operator's labels file."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.containers.errors import BadLabelsFile
from gateway.containers.label_settings import LABEL_NAME
from gateway.containers.labels_file import (
    MAX_BYTES,
    MAX_LINES,
    MAX_PATTERNS,
    LabelsFileReader,
    parse_labels_file,
)
from gateway.containers.placement import parse_cgroup
from tests.file_leases import leased

A = "0123456789abcdef" * 4
B = "0123456789ab" + "f" * 52
TEXT = f"""
# what      which                    labels
container   {A}    application=search version=r7   # the new one
container   {B[:20]}  application=other
unit        nginx.service            team=web
unit        "postgresql@*.service"   team=data "note=two words"
cgroup      /slurm/uid_*/job_7/      application=batch job=7
cgroup      /slurm                   team=hpc application=slurm
"""


@pytest.mark.parametrize(
    ("path", "labels"),
    [
        (f"/docker/{A}", {"application": "search", "version": "r7"}),
        (f"/docker/{B}", {"application": "other"}),
        ("/system.slice/nginx.service", {"team": "web"}),
        ("/system.slice/system-x.slice/postgresql@15-main.service", {"team": "data", "note": "two words"}),
        ("/slurm/uid_1000/job_7/step_0/task_1", {"application": "slurm", "job": "7", "team": "hpc"}),
        ("/slurm/uid_1000/job_8", {"application": "slurm", "team": "hpc"}),
        ("/slurmx", {}),
        (f"/docker/{'a' * 64}/system.slice/nginx.service", {}),
        ("/lxc.payload.web1/system.slice/nginx.service", {}),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/nginx.service", {}),
        ("/", {}),
        ("", {}),
    ],
)
def test_all_lines_that_fit_count_and_later_ones_more(path: str, labels: dict[str, str]):
    file = parse_labels_file(TEXT)
    assert file.warnings == ()
    assert file.labels(parse_cgroup(path), path) == labels


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("pod x a=b", "unknown kind 'pod'; kinds: container, unit, cgroup"),
        ("container abc a=b", "at least 12 hexadecimal digits"),
        ("container ../../../etc/passwd a=b", "at least 12 hexadecimal digits"),
        ("unit x.service", "at least one KEY=VALUE must follow"),
        ("unit", "at least one KEY=VALUE must follow"),
        ("cgroup slurm a=b", "begin with a slash"),
        ("unit x.service nonsense", "is not KEY=VALUE"),
        ("unit x.service 1a=b", "is not KEY=VALUE"),
        ("unit x.service é=b", "is not KEY=VALUE"),
        ("unit x.service a=\x1b[31m", "not printable"),
        (f"unit x.service a={'x' * 256}", "longer than 255"),
        ('unit x.service "a=b', "No closing quotation"),
        ("unit x.service " + " ".join(f"a{n}=b" for n in range(33)), "more than 32 labels"),
    ],
)
def test_a_bad_line_is_left_out_and_said(line: str, why: str):
    file = parse_labels_file(f"unit a.service team=a\n{line}\nunit b.service team=b\n")
    (complaint,) = file.warnings
    assert complaint.startswith("line 2: ")
    assert why in complaint
    for unit in ("a", "b"):
        path = f"/system.slice/{unit}.service"
        assert file.labels(parse_cgroup(path), path) == {"team": unit}


def test_complaints_are_few():
    assert len(parse_labels_file("nonsense\n" * 1000).warnings) == 6
    assert any("more than" in text for text in parse_labels_file("\n" * (MAX_LINES + 1)).warnings)
    many = parse_labels_file("unit x*.service a=b\n" * (MAX_PATTERNS + 1))
    assert len(many.patterns) == MAX_PATTERNS
    assert len(many.warnings) == 1


WORDS = st.sampled_from(
    ["unit", "container", "cgroup", A, "*", "[", "/a*", "a=b", "x.service", '"', "\\", "#", "\n", " "]
)


@given(
    st.text(max_size=200) | st.lists(WORDS, max_size=30).map(" ".join),
    st.sampled_from(["/", "/x.service", f"/docker/{A}", "/a/b"]),
)
def test_any_file_gives_labels_that_can_be_asked_for(text: str, path: str):
    labels = parse_labels_file(text).labels(parse_cgroup(path), path)
    assert all(LABEL_NAME.fullmatch(key) and value.isprintable() for key, value in labels.items())


def test_the_file_is_read_again_when_it_changes(tmp_path: Path):
    file = tmp_path / "labels"
    file.write_text("unit a.service team=one\n")
    watched = LabelsFileReader(file)
    first = watched.current()
    assert watched.current() is first
    path = "/a.service"
    later = tmp_path / "new"
    later.write_text("unit a.service team=two\n")
    later.replace(file)
    assert watched.current().labels(parse_cgroup(path), path) == {"team": "two"}
    # in place, the same size, another time
    file.write_text("unit a.service team=six\n")
    os.utime(file, ns=(1, 1))
    assert watched.current().labels(parse_cgroup(path), path) == {"team": "six"}
    file.unlink()
    with pytest.raises(BadLabelsFile, match="No such file"):
        watched.current()
    file.write_text("unit a.service team=back\n")
    assert watched.current().labels(parse_cgroup(path), path) == {"team": "back"}


def test_a_file_that_is_too_large(tmp_path: Path):
    file = tmp_path / "labels"
    with file.open("wb") as opened:
        opened.truncate(MAX_BYTES + 1)
    with pytest.raises(BadLabelsFile, match="more than"):
        LabelsFileReader(file).current()


def test_a_file_that_would_keep_captures_waiting_is_not_read(tmp_path: Path):
    path = tmp_path / "labels"
    labels = LabelsFileReader(path)
    os.mkfifo(path)
    with pytest.raises(BadLabelsFile, match="not a regular file"):
        labels.current()
    path.unlink()
    path.write_text("unit nginx.service team=web\n")
    with leased(path), pytest.raises(BadLabelsFile, match="lease"):
        labels.current()
    assert labels.current().exact
