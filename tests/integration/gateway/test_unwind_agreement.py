"""One recording by perf, unwound by perf and by the gateway: nothing may differ."""

import shutil
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.unwind_agreement import Agreement, compare

pytestmark = pytest.mark.integration

SECONDS = 3
ENOUGH = 80
TRIES = 8
LONG = "600"
"""Seconds: a program is ended when it has been recorded."""
PYTHON = """
import json, re, sys, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    fib(15)
    text = json.dumps([{"a": n} for n in range(300)])
    sorted(re.findall("[0-9]+", text), key=lambda digits: -int(digits))
"""
NODE = """
const end = Date.now() + 1000 * parseFloat(process.argv[1]);
const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2);
let sum = 0;
while (Date.now() < end) {
  sum += fib(15) + [...Array(50).keys()].map(n => n * sum % 7).sort((a, b) => b - a).length;
  JSON.parse(JSON.stringify({a: [1, 2, {b: 'x'.repeat(100)}]}));
  'abc123def'.replace(/[0-9]+/g, digits => digits + digits);
}
"""


def needed(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


def c_program(directory: Path) -> list[str]:
    binary = directory / "busy"
    source = Path(__file__).with_name("busy.c")
    subprocess.run([needed("gcc"), "-O2", "-fomit-frame-pointer", "-o", binary, source], check=True)
    return [str(binary), LONG]


def python_program(_: Path) -> list[str]:
    return [sys.executable, "-c", PYTHON, LONG]


def openssl_program(_: Path) -> list[str]:
    return [needed("openssl"), "speed", "-seconds", LONG, "sha256"]


def node_program(_: Path) -> list[str]:
    return [needed("node"), "-e", NODE, LONG]


def record(directory: Path, command: list[str]) -> Agreement:
    """Record a program that runs, and compare how the recording is unwound while it still runs."""
    perf = needed("perf")
    recording = directory / "perf.data"
    with ExitStack() as stack:
        program = stack.enter_context(
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
        stack.callback(program.kill)
        for _ in range(TRIES):
            what = ["-e", "cpu-clock", "-F", "199", "--call-graph", "dwarf,16384", "-o", str(recording)]
            recorded = subprocess.run(
                [perf, "record", "-q", *what, "-p", str(program.pid), "--", "sleep", str(SECONDS)],
                capture_output=True,
                text=True,
                check=False,
            )
            if recorded.returncode and program.poll() is None:
                pytest.skip(f"perf may not record here: {recorded.stderr.strip()[-300:]}")
            found = compare(recording, pids={program.pid})
            if found.stacks >= ENOUGH:
                break
        return found


@pytest.mark.slow
@pytest.mark.parametrize("program", [c_program, python_program, openssl_program, node_program])
def test_unwinding_agrees_with_perf(program, tmp_path):
    found = record(tmp_path, program(tmp_path))
    report = "\n".join([str(found.ends), *found.examples])
    assert found.stacks >= ENOUGH, "too few samples to say anything"
    assert found.wrong == 0, report
    assert found.perf_longer == 0, report
    # Where perf stops short, what goes on must be proved by CALLs and end where the thread began.
    assert found.identical_or_longer >= 0.98, report
