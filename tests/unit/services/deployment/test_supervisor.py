"""GIVEN real child processes WHEN they live, die or hang THEN the supervisor does what it says."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from services.deployment.supervisor import Child, Part, how_it_ended
from services.errors import CannotStart

FOREVER = [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"]


def part(tmp_path: Path, command: list[str], **changes) -> Part:
    log = tmp_path / "part.log"
    values = {
        "name": "part",
        "command": command,
        "log": log,
        "ready": lambda: log.exists() and b"up" in log.read_bytes(),
    }
    return Part(**(values | changes))


def until(condition, what: str, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def test_a_child_becomes_ready_and_ends_when_told(tmp_path):
    child = Child(part(tmp_path, FOREVER))
    child.start()
    child.wait_until_ready()
    assert child.pid is not None
    child.stop()
    assert child.pid is None


def test_a_child_does_not_work_in_the_folder_it_was_started_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    child = Child(part(tmp_path, [sys.executable, "-c", f"import os; print(os.getcwd()); {FOREVER[2]}"]))
    child.start()
    child.wait_until_ready()
    child.stop()
    assert (tmp_path / "part.log").read_text() == "/\nup\n"


def test_a_child_inherits_what_its_part_says_and_is_given_the_rest(tmp_path, monkeypatch):
    for name in ("OURS", "PGPASSWORD"):
        monkeypatch.setenv(name, "x")
    show = f"import os; print([name in os.environ for name in ('OURS', 'PGPASSWORD', 'GIVEN')]); {FOREVER[2]}"
    command = [sys.executable, "-c", show]
    child = Child(part(tmp_path, command, environment={"GIVEN": "x"}, inherits=lambda name: name == "OURS"))
    child.start()
    child.wait_until_ready()
    child.stop()
    assert (tmp_path / "part.log").read_text() == "[True, False, True]\nup\n"


def test_logs_are_their_users_own_and_do_not_grow_without_bound(tmp_path):
    log = tmp_path / "log" / "part.log"
    child = Child(part(tmp_path, FOREVER, log=log, ready=lambda: b"up" in log.read_bytes()))
    child.start()
    child.wait_until_ready()
    child.stop()
    assert log.parent.stat().st_mode & 0o077 == 0
    with log.open("r+b") as file:
        file.truncate(17 << 20)
    child.start()
    child.wait_until_ready()
    child.stop()
    assert log.read_text() == "up\n"


def test_a_child_that_ends_while_starting_is_an_error_with_its_last_lines(tmp_path):
    child = Child(part(tmp_path, [sys.executable, "-c", "print('no such socket'); raise SystemExit(3)"]))
    child.start()
    with pytest.raises(CannotStart, match=r"(?s)exit code 3.*no such socket"):
        child.wait_until_ready()


def test_a_child_that_is_never_ready_is_an_error(tmp_path):
    child = Child(part(tmp_path, FOREVER, ready=lambda: False, ready_within_s=0.2))
    child.start()
    try:
        with pytest.raises(CannotStart, match="not ready"):
            child.wait_until_ready()
    finally:
        child.stop()


def test_a_killed_child_is_started_again_and_said(tmp_path):
    child = Child(part(tmp_path, FOREVER))
    child.start()
    child.wait_until_ready()
    first = child.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    said: list[str] = []

    def tended() -> bool:
        if sentence := child.tend():
            said.append(sentence)
        return child.restarts == 1

    until(tended, "started again")
    try:
        assert said == ["part ended (killed by SIGKILL); restarting it"]
        assert child.pid not in (None, first)
    finally:
        child.stop()


def test_a_child_that_ignores_the_request_is_killed(tmp_path):
    stubborn = "import signal; signal.signal(15, signal.SIG_IGN); print('up', flush=True)\nwhile True: signal.pause()"
    child = Child(part(tmp_path, [sys.executable, "-c", stubborn], stop_within_s=0.3))
    child.start()
    child.wait_until_ready()
    child.stop()
    assert child.pid is None


def test_children_end_when_their_supervisor_is_killed(tmp_path):
    program = f"""
import sys, signal
from pathlib import Path
from services.deployment.supervisor import Child, Part
log = Path({str(tmp_path / "grandchild.log")!r})
child = Child(Part("x", [sys.executable, "-c", "import signal; print('up', flush=True); signal.pause()"], log, lambda: log.exists() and b"up" in log.read_bytes()))
child.start(); child.wait_until_ready(); print(child.pid, flush=True); signal.pause()
"""
    supervisor = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert supervisor.stdout is not None
    with supervisor.stdout:
        grandchild = int(supervisor.stdout.readline())
    supervisor.kill()
    supervisor.wait()

    def gone() -> bool:
        try:
            return Path(f"/proc/{grandchild}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
        except FileNotFoundError:
            return True

    until(gone, "the grandchild ends")


def test_how_a_process_ended_is_said_in_words():
    assert how_it_ended(2) == "exit code 2"
    assert how_it_ended(-9) == "killed by SIGKILL"
