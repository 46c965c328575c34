import os
import stat
import threading
from pathlib import Path

import pytest

from services.embedded.server_folder import alone, check_socket, make_folder, rotate_long_log
from services.errors import CannotStart


def test_the_longest_socket_path_is_the_kernels():
    check_socket("/" + "a" * 106)
    with pytest.raises(CannotStart, match="1 bytes too long"):
        check_socket("/" + "a" * 107)
    with pytest.raises(CannotStart, match="FLEETPROF_STATE_DIR"):
        check_socket("/" + "é" * 60)


def test_folders_are_this_users_and_roots_can_be_passed_through(tmp_path: Path):
    before = os.umask(0o077)
    try:
        make_folder(tmp_path / "a/b")
    finally:
        os.umask(before)
    expected = 0o711 if os.geteuid() == 0 else 0o700
    for folder in (tmp_path / "a", tmp_path / "a/b"):
        assert stat.S_IMODE(folder.stat().st_mode) == expected
    make_folder(tmp_path / "a/b")


def test_a_folder_that_cannot_be_made_says_what_to_set(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(CannotStart, match="FLEETPROF_STATE_DIR"):
        make_folder(tmp_path / "file/x")


def test_one_at_a_time(tmp_path: Path):
    order = []
    second_waits = threading.Event()

    def second() -> None:
        second_waits.set()
        with alone(tmp_path):
            order.append("second")

    with alone(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        second_waits.wait(10)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_a_long_log_begins_anew(tmp_path: Path):
    log = tmp_path / "server.log"
    rotate_long_log(log)
    log.write_text("short")
    rotate_long_log(log)
    assert log.read_text() == "short"
    with log.open("r+b") as file:
        file.truncate((16 << 20) + 1)
    rotate_long_log(log)
    assert not log.exists()
    assert (tmp_path / "server.log.1").exists()
