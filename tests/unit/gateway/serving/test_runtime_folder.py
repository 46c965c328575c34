"""GIVEN folders in /tmp WHEN a daemon starts THEN it removes those of killed daemons of its user, and no others."""

import fcntl
import os
import shutil
import stat

import pytest

from gateway.serving.runtime_folder import runtime_folder, sweep


def test_it_is_ours_alone_and_gone_at_the_end(tmp_path):
    with runtime_folder(tmp_path) as folder:
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        (folder.path / "0.sock").touch()
    assert not list(tmp_path.iterdir())


def test_a_living_daemons_folder_stays(tmp_path):
    with runtime_folder(tmp_path) as first, runtime_folder(tmp_path) as second:
        sweep(tmp_path)
        assert first.path.exists()
        assert second.path.exists()
        assert first.path != second.path


def test_what_a_killed_daemon_left_goes(tmp_path):
    pid = os.fork()
    if not pid:
        with runtime_folder(tmp_path):
            os._exit(0)  # as SIGKILL: nothing is cleaned up
    os.waitpid(pid, 0)
    (left,) = tmp_path.iterdir()
    with runtime_folder(tmp_path):
        assert not left.exists()


def test_whatever_is_in_doubt_stays(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "owner.lock").touch()
    (tmp_path / "fleetprof-gateway-link").symlink_to(precious)
    (tmp_path / "fleetprof-gateway-file").touch()
    being_made = tmp_path / "fleetprof-gateway-new"
    being_made.mkdir(mode=0o700)
    open_to_others = tmp_path / "fleetprof-gateway-open"
    open_to_others.mkdir()
    open_to_others.chmod(0o755)
    (open_to_others / "owner.lock").touch()
    linked_lock = tmp_path / "fleetprof-gateway-lock"
    linked_lock.mkdir(mode=0o700)
    (linked_lock / "owner.lock").symlink_to(precious / "owner.lock")
    before = {str(path) for path in tmp_path.rglob("*")}
    sweep(tmp_path)
    assert {str(path) for path in tmp_path.rglob("*")} == before


def test_a_lock_that_is_held_is_respected_whoever_holds_it(tmp_path):
    folder = tmp_path / "fleetprof-gateway-held"
    folder.mkdir(mode=0o700)
    with (folder / "owner.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sweep(tmp_path)
        assert folder.exists()
    sweep(tmp_path)
    assert not folder.exists()


def test_one_that_was_cleaned_away_is_made_anew_and_held(tmp_path):
    with runtime_folder(tmp_path) as folder:
        shutil.rmtree(folder.path)
        folder.restore()
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        sweep(tmp_path)
        assert folder.path.exists()
        (folder.path / "owner.lock").unlink()
        folder.restore()
        sweep(tmp_path)
        assert folder.path.exists()
    assert not list(tmp_path.iterdir())


def test_one_that_is_there_stays_as_it_is(tmp_path):
    with runtime_folder(tmp_path) as folder:
        lock = (folder.path / "owner.lock").stat().st_ino
        folder.restore()
        assert (folder.path / "owner.lock").stat().st_ino == lock


def test_a_name_that_another_took_meanwhile_is_not_used(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with runtime_folder(tmp_path) as folder:
        shutil.rmtree(folder.path)
        folder.path.symlink_to(elsewhere)
        with pytest.raises(FileExistsError, match="no longer belongs to this daemon"):
            folder.restore()
    assert not list(elsewhere.iterdir())
