"""Programs that compile while they run, sampled by a real gateway: rows are named after their functions."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine

from benchmarks.agreement.product import Product
from fleetpb import capture_pb2
from storage.archive import Archive
from symbolizer.jit_names import JitName, parse
from symbolizer.sources.chain import Chain
from tests.gateway_daemon import (
    DEADLINE_S,
    Daemon,
    ask,
    ends_of,
    groups_where,
    plan,
    running,
    stacks_of,
    wait_until,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted"), pytest.mark.slow]
DAEMON_OPTIONS = ("--max-cpu-percent", "50")

NODE = """
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
class Shape {
  area(x) { let sum = 0; for (let i = 0; i < 1000; i++) sum += Math.sqrt(i * x); return sum; }
}
function rounds(end) {
  let sum = 0;
  const shape = new Shape();
  while (Date.now() < end) sum += fib(12) + shape.area(sum % 7) + [3, 1, 2].map(n => n * sum % 5).length;
  return sum;
}
console.log('ready');
rounds(Date.now() + 1000 * parseFloat(process.argv[2]));
"""
PYTHON = """
import json, sys, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class Shape:
    def area(self): return sum(n * n for n in range(300))
def rounds(end):
    while time.monotonic() < end:
        fib(12), Shape().area(), json.dumps([1, 2, 3], indent=1)
print('ready', flush=True)
rounds(time.monotonic() + float(sys.argv[1]))
"""
# Starts the command again and again, each for a moment.
BRIEFLY = """
import subprocess, sys
print('ready', flush=True)
while True:
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
"""


@contextmanager
def started(command: Sequence[str | Path]) -> Iterator[int]:
    """The pid of a program that has said that it is ready; it and its children are ended."""
    # node leaves a log of its code where it is started.
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, cwd=folder) as process,
    ):
        try:
            assert process.stdout is not None
            wait_until("the program is ready", lambda: b"ready" in process.stdout.readline())
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(DEADLINE_S)


def made_functions(capture: capture_pb2.Capture, groups: Sequence[int]) -> dict[str, set[JitName]]:
    """Functions, by name, that perf maps named in the stacks of these groups."""
    found: dict[str, set[JitName]] = {}
    for excerpt in capture.excerpts:
        if excerpt.group in groups:
            assert capture.strings[excerpt.source] == "perf-map"
            for index in excerpt.name:
                read = parse(capture.strings[index])
                found.setdefault(read.name, set()).add(read)
    return found


def complete(capture: capture_pb2.Capture, groups: Sequence[int]) -> float:
    ends = ends_of(stacks_of(capture, groups))
    assert ends.total() > 50, ends
    return ends["COMPLETE"] / ends.total()


def captured(daemon: Daemon, seconds: float = 2) -> capture_pb2.Capture:
    with daemon.stub() as stub:
        return ask(stub, plan(seconds=seconds, rate_hz=499)).capture


def node() -> str:
    path = shutil.which("node")
    if path is None:
        pytest.skip("node is not installed")
    return path


def new_python() -> str:
    """A CPython that has -X perf."""
    for path in (shutil.which(f"python3.{minor}") for minor in (13, 12, 14)):
        if (
            path
            and not subprocess.run(
                [path, "-c", "import sys; sys.exit(sys.version_info < (3, 12))"],
                capture_output=True,
                check=False,
            ).returncode
        ):
            return path
    for folder in sorted(Path.home().glob(".pyenv/versions/3.1[2-9]*")):
        return str(folder / "bin" / "python3")
    pytest.skip("rare: no CPython ≥ 3.12 is installed")


def test_nodes_functions_are_rows(daemon: Daemon, engine: Engine, archive: Archive, tmp_path: Path):
    """Through the whole product: a visit, the archive, the symbolizer, PostgreSQL, a query."""
    script = tmp_path / "app.js"
    script.write_text(NODE)
    # No symbols of files: reading those of all that runs here takes ten times as long as the rest.
    product = Product(engine, archive, tmp_path / "symbols", daemon.target, symbols=Chain(()))
    command = [node(), "--perf-basic-prof", "--interpreted-frames-native-stack", script, "30"]
    with closing(product), started(command) as pid:
        visited = product.visit(2, 499, lambda _done, _samples: None)
        product.ingest(visited)
    Path(f"/tmp/perf-{pid}.map").unlink()
    table = product.table(visited, '{application="app.js"}')
    rows = {(row.key["function"], row.key["binary"]): row for row in table.rows}
    fib = rows["fib", str(script)]
    assert fib.self_samples > 20
    assert rows["rounds", str(script)].total_samples > fib.total_samples
    assert fib.total_samples >= fib.self_samples
    nameless = rows.get(("[jit]", "[jit]"))
    assert nameless is None or nameless.total_samples <= fib.total_samples / 50


def test_cpythons_functions_are_rows(tmp_path: Path):
    """By its perf map, where no program reads its frames."""
    script = tmp_path / "app.py"
    script.write_text(PYTHON)
    with (
        running(tmp_path, *DAEMON_OPTIONS, "--source-frames", "off") as daemon,
        started([new_python(), "-X", "perf", script, "30"]) as pid,
    ):
        capture = captured(daemon)
    Path(f"/tmp/perf-{pid}.map").unlink()
    groups = groups_where(capture, script="app.py")
    found = made_functions(capture, groups)
    for name in ("fib", "rounds", "Shape.area", "<module>"):
        assert JitName(name, str(script)) in found[name]
    assert any(function.file.endswith("json/__init__.py") for function in found["dumps"])
    # Walked through the trampolines, to the thread's start.
    assert complete(capture, groups) >= 0.95


def test_processes_that_are_gone_when_they_are_looked_at_are_named_too(daemon: Daemon, tmp_path: Path):
    """Each lives for 0.1 s or so, and samples are read every 0.25 s."""
    script = tmp_path / "brief.js"
    script.write_text(NODE)
    command = [node(), "--perf-basic-prof", "--interpreted-frames-native-stack", script, "0.05"]
    before = set(Path("/tmp").glob("perf-*.map"))
    with started([sys.executable, "-c", BRIEFLY, *command]):
        capture = captured(daemon, seconds=3)
    for path in set(Path("/tmp").glob("perf-*.map")) - before:
        path.unlink()
    found = made_functions(capture, groups_where(capture, exe=os.path.realpath(command[0])))
    # Others may run the like on this machine.
    assert JitName("fib", str(script), 2) in found["fib"]
