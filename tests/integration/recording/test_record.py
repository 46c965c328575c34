"""`fleetprof record` as its user runs it: real programs, real files."""

import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.profile_proto import read

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

HERE = Path(__file__).parent
SPIN = """
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned sink;
__attribute__((noinline)) void inner(void) { for (unsigned i = 0; i < 1000000; i++) sink += i; }
__attribute__((noinline)) void outer(double seconds)
{
    for (clock_t end = clock() + seconds * CLOCKS_PER_SEC; clock() < end;) { inner(); sink++; }
}
int main(int argc, char **argv)
{
    if (fork() == 0) { outer(atof(argv[1]) / 2); return 0; }
    outer(atof(argv[1]));
    wait(NULL);
    return argc > 2 ? atoi(argv[2]) : 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "spin.c").write_text(SPIN)
    subprocess.run(["gcc", "-O1", "-g", "-o", folder / "spin", folder / "spin.c"], check=True)
    return folder / "spin"


def record(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "services", "record", *arguments],
        cwd=folder,
        env=os.environ | {"XDG_CACHE_HOME": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


def refused(done: subprocess.CompletedProcess[str]) -> bool:
    return "perf events are not permitted" in done.stderr or "do not work on this machine" in done.stderr


def test_a_command_with_its_child_and_its_exit_code(program: Path, tmp_path: Path) -> None:
    done = record(tmp_path, "-o", "p.pb.gz", "-o", "p.collapsed", "--", program, "1", "3")
    if refused(done):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 3, done.stderr
    assert "inner" in done.stdout
    profile = read(gzip.decompress((tmp_path / "p.pb.gz").read_bytes()))
    seconds = sum(sample.value[1] for sample in profile.sample) / 1e9
    assert 1.2 < seconds < 2.0  # 1 s of the program and 0.5 s of its child, and their start
    stacks = {
        stack: int(count)
        for stack, _, count in (
            line.rpartition(" ") for line in (tmp_path / "p.collapsed").read_text().splitlines()
        )
    }
    inside = sum(count for stack, count in stacks.items() if "main;outer;inner" in stack)
    assert inside > 0.9 * sum(stacks.values())


def test_functions_of_python_are_between_those_of_the_interpreter(tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(
        "import time\n"
        "def inner():\n    return sum(i * i for i in range(10_000))\n"
        "def outer():\n    end = time.time() + 3\n    while time.time() < end:\n        inner()\n"
        "outer()\n"
    )
    done = record(tmp_path, "-o", "p.collapsed", "--", sys.executable, "busy.py")
    if refused(done):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    if not Path("/sys/kernel/btf/vmlinux").exists() or os.geteuid():
        pytest.skip("BPF programs are not permitted here")
    lines = [line.rpartition(" ") for line in (tmp_path / "p.collapsed").read_text().splitlines()]
    whole = sum(int(count) for _, _, count in lines)
    outer = sum(int(count) for stack, _, count in lines if "<module>;outer" in stack)
    assert outer > 0.85 * whole  # the rest is the interpreter's start
    # Between `inner` and its generator is `sum`, a C function.
    calls = re.compile(r"<module>;outer;inner;.+;inner\.<locals>\.<genexpr>")
    assert sum(int(count) for stack, _, count in lines if calls.search(stack)) > 0.4 * whole
    assert all(stack.startswith("busy.py;_start") for stack, _, _ in lines if "<module>;outer" in stack)


def test_go_reads_the_profile(program: Path, tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("there is no go here")
    done = record(tmp_path, "-o", "p.pb.gz", "--", program, "0.5")
    if refused(done):
        pytest.skip(done.stderr.strip())
    top = subprocess.run(
        ["go", "tool", "pprof", "-top", tmp_path / "p.pb.gz"], capture_output=True, text=True, check=True
    )
    lines = top.stdout.splitlines()
    heading = next(n for n, line in enumerate(lines) if "flat%" in line)
    assert lines[heading + 1].endswith("inner")


def test_a_running_process_until_its_time_is_over(program: Path, tmp_path: Path) -> None:
    with subprocess.Popen([program, "60"]) as running:
        try:
            done = record(tmp_path, "--pid", str(running.pid), "--for", "2s")
        finally:
            subprocess.run(["pkill", "-KILL", "-P", str(running.pid)], check=False)
            running.kill()
    if refused(done):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert "inner" in done.stdout
    assert (tmp_path / "spin.pb.gz").exists()
    assert (tmp_path / "spin.html").read_text().startswith("<!doctype html>")


def test_interrupting_a_process_recording_keeps_what_was_sampled(program: Path, tmp_path: Path) -> None:
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([program, "60"]) as running:
        try:
            recording = subprocess.Popen(
                [sys.executable, "-m", "services", "record", "--pid", str(running.pid), "-o", "p.collapsed"],
                cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert recording.stderr is not None
            first = recording.stderr.readline()
            time.sleep(1)
            recording.send_signal(signal.SIGINT)
            _, errors = recording.communicate(timeout=120)
        finally:
            subprocess.run(["pkill", "-KILL", "-P", str(running.pid)], check=False)
            running.kill()
    if not first.startswith("Recording"):
        pytest.skip((first + errors).strip())
    assert recording.returncode == 0, errors
    assert "outer;inner" in (tmp_path / "p.collapsed").read_text()


def test_errors_name_the_value_and_the_fix(program: Path, tmp_path: Path) -> None:
    for arguments, status, sentence in (
        ((), 2, "either a command after --, or --pid"),
        (("--", "no-such-program"), 1, "'no-such-program' is not a program"),
        (("--pid", "4194000"), 1, "There is no process 4194000"),
        (("-o", "p.xyz", "--", program, "1"), 2, ".pb.gz, .pprof, .html"),
        (("--for", "2h", "--", program, "1"), 2, "within 0 and 1h"),
        (("--event", "no-such-event", "--", program, "1"), 1, "no-such-event"),
        (("--", "/bin/true"), 1, "Record for longer"),
    ):
        done = record(tmp_path, *arguments)
        if refused(done):
            pytest.skip(done.stderr.strip())
        assert done.returncode == status, (arguments, done.stderr)
        assert sentence in " ".join(done.stderr.replace("│", " ").split()), done.stderr
    assert not list(tmp_path.glob("*.html"))
