"""GIVEN a state directory WHEN an `up` holds it THEN others find it, and no second one starts."""

import os

import pytest

from services.configuration.settings import read_settings
from services.deployment.running_deployment import (
    RunningDeployment,
    find_running_deployment,
    lock_state_dir,
    not_running_reason,
    publish_deployment,
    run_dir,
)
from services.errors import AlreadyRunning, CannotStart, SettingsProblem

STACK = RunningDeployment(7, "postgresql://x", "redis://y", "http://127.0.0.1:7070", "unix:/z")


def test_nothing_runs_in_an_empty_directory(tmp_path):
    assert find_running_deployment(tmp_path) is None


def test_a_running_stack_is_found_and_excludes_a_second(tmp_path):
    with lock_state_dir(tmp_path):
        publish_deployment(tmp_path, STACK)
        assert find_running_deployment(tmp_path) == STACK
        with (
            pytest.raises(AlreadyRunning, match=r"process 7, http://127.0.0.1:7070"),
            lock_state_dir(tmp_path),
        ):
            pass
    assert find_running_deployment(tmp_path) is None


def test_who_starts_a_second_is_told_the_command_that_opens_the_first(tmp_path):
    made_up = tmp_path / "my state" / "simulated" / "100"
    with lock_state_dir(made_up):
        command = rf"link to it: FLEETPROF_STATE_DIR='{made_up}' fleetprof url\."
        with pytest.raises(AlreadyRunning, match=command), lock_state_dir(made_up, usual=tmp_path):
            pass
        with pytest.raises(AlreadyRunning, match=command), lock_state_dir(made_up):
            pass
        with (
            pytest.raises(AlreadyRunning, match=r"link to it: fleetprof url\."),
            lock_state_dir(made_up, usual=made_up),
        ):
            pass


def test_what_a_killed_one_left_is_not_taken_for_a_running_one(tmp_path):
    with lock_state_dir(tmp_path):
        publish_deployment(tmp_path, STACK)
        left = (run_dir(tmp_path) / "up.json").read_bytes()
    (run_dir(tmp_path) / "up.json").write_bytes(left)
    assert find_running_deployment(tmp_path) is None


def test_who_finds_none_is_told_of_the_made_up_fleet_that_runs(tmp_path, monkeypatch):
    monkeypatch.delenv("FLEETPROF_DATABASE_URL", raising=False)
    assert not_running_reason(tmp_path) == f"No `fleetprof up` runs with the state directory {tmp_path}."
    with lock_state_dir(tmp_path / "simulated" / "100"):
        pass
    with lock_state_dir(tmp_path / "simulated" / "300"):
        assert not_running_reason(tmp_path).endswith(f"set FLEETPROF_STATE_DIR={tmp_path}/simulated/300.")
        with pytest.raises(SettingsProblem, match="simulated fleet"):
            read_settings(state_dir=tmp_path).needed_database_url()


def test_who_asks_too_early_is_told_to_wait(tmp_path):
    with lock_state_dir(tmp_path):
        assert find_running_deployment(tmp_path) is None
        assert "still starting" in not_running_reason(tmp_path)


def test_only_its_user_can_read_where_things_are(tmp_path):
    with lock_state_dir(tmp_path):
        publish_deployment(tmp_path, STACK)
        assert run_dir(tmp_path).stat().st_mode & 0o777 == 0o700
        assert (run_dir(tmp_path) / "up.json").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_used_is_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(CannotStart, match="FLEETPROF_STATE_DIR"), lock_state_dir(tmp_path / "file"):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's servers run as another user")
def test_roots_folder_can_be_passed_through_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        with lock_state_dir(tmp_path / "state"):
            assert (tmp_path / "state").stat().st_mode & 0o777 == 0o711
    finally:
        os.umask(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can write where others do")
def test_root_does_not_write_into_the_folder_of_another_user(tmp_path):
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 12345, 12345)
    with pytest.raises(CannotStart, match="user 12345"), lock_state_dir(tmp_path / "theirs"):
        pass
