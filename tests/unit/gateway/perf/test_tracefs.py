"""GIVEN tracefs at either place, closed, or not mounted WHEN a tracepoint is looked for THEN a person knows what to do."""

import errno
from pathlib import Path

import pytest

from fleetpb import capture_pb2
from gateway.errors import EventUnavailable
from gateway.perf.event_names import TracepointName
from gateway.perf.tracefs import tracepoint_id

SWITCH = TracepointName("sched", "sched_switch")


def mounted(folder: Path, number: str = "372\n") -> Path:
    path = folder / "events/sched/sched_switch"
    path.mkdir(parents=True)
    (path / "id").write_text(number)
    return folder


def refused(name: TracepointName, *mounts: Path) -> EventUnavailable:
    with pytest.raises(EventUnavailable) as reason:
        tracepoint_id(name, mounts)
    return reason.value


def test_it_is_found_at_the_first_place_or_at_the_second(tmp_path: Path):
    new, old = mounted(tmp_path / "new"), mounted(tmp_path / "old", "9")
    assert tracepoint_id(SWITCH, [new, old]) == 372
    (tmp_path / "empty").mkdir()
    assert tracepoint_id(SWITCH, [tmp_path / "empty", old]) == 9


def test_without_a_mount_the_command_is_named(tmp_path: Path):
    reason = refused(SWITCH, tmp_path / "a", tmp_path / "b")
    assert (reason.support, reason.errno) == (capture_pb2.SUPPORT_UNSUPPORTED, errno.ENOENT)
    assert "mount -t tracefs" in str(reason)


def test_a_kernel_without_the_tracepoint_says_that(tmp_path: Path):
    reason = refused(TracepointName("sched", "sched_stitch"), mounted(tmp_path))
    assert (reason.support, reason.errno) == (capture_pb2.SUPPORT_UNSUPPORTED, errno.ENOENT)
    assert "no such tracepoint" in str(reason)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM])
def test_a_closed_tracefs_is_denied_whatever_the_other_place_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
):
    closed = tmp_path / "closed"
    real = Path.open

    def open_(self: Path, *arguments: object, **options: object):
        if closed in self.parents:
            raise OSError(code, "closed")
        return real(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", open_)
    for mounts in ((closed, tmp_path / "none"), (tmp_path / "none", closed)):
        reason = refused(SWITCH, *mounts)
        assert (reason.support, reason.errno) == (capture_pb2.SUPPORT_DENIED, code)
        assert "CAP_DAC_READ_SEARCH" in str(reason)


@pytest.mark.parametrize("number", ["", "x", "-1", "1" * 60])
def test_an_id_that_is_none_is_no_event(tmp_path: Path, number: str):
    assert refused(SWITCH, mounted(tmp_path, number)).errno == errno.EINVAL
