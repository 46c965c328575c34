import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.embedded.server_process import first_number, runs, tail


@contextmanager
def sleeping(program: Path) -> Iterator[int]:
    """Process id of a sleeper whose arguments can be seen: they appear a moment after its exec."""
    with subprocess.Popen([program, "97531"]) as process:
        try:
            deadline = time.monotonic() + 30
            while not Path(f"/proc/{process.pid}/cmdline").read_bytes().endswith(b"97531\0"):
                assert time.monotonic() < deadline
            yield process.pid
        finally:
            process.kill()


def test_a_process_is_known_by_program_and_argument():
    with sleeping(Path("/bin/sleep")) as pid:
        assert runs(pid, "sleep", "97531")
        assert not runs(pid, "sleep", "elsewhere")
        assert not runs(pid, "leep", "97531")
        assert not runs(pid, "postgres", "97531")


def test_a_program_in_a_folder_with_spaces_is_known(tmp_path: Path):
    folder = tmp_path / "two words"
    folder.mkdir()
    (folder / "sleeper").symlink_to("/bin/sleep")
    with sleeping(folder / "sleeper") as pid:
        assert runs(pid, "sleeper", "97531")


def test_a_zombie_does_not_run():
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert Path(f"/proc/{process.pid}").exists()
    assert not runs(process.pid, "python", "")
    process.wait()
    assert not runs(process.pid, "python", "")


def test_a_pid_file_begins_with_a_number(tmp_path: Path):
    file = tmp_path / "pid"
    for text, expected in {"12\n/data\n": 12, "12": 12, "": None, "x\n1": None, "\n1": None}.items():
        file.write_text(text)
        assert first_number(file) == expected
    assert first_number(tmp_path / "none") is None


def test_the_tail_of_a_log_names_the_log(tmp_path: Path):
    log = tmp_path / "log"
    assert tail(log) == ""
    log.write_bytes(b"a\n" * 20_000 + b"last \xff\n")
    shown = tail(log, lines=2)
    assert shown.splitlines()[1:3] == ["    a", "    last �"]
    assert str(log) in shown
