"""GIVEN Python programs with known stacks WHEN a capture is taken THEN their stacks are complete, and none is wrong."""

import json
import re
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard

from fleetpb import capture_pb2, gateway_pb2
from gateway.capture.capture_resources import CaptureResources
from gateway.capture.capture_runner import CaptureRunner
from gateway.capture.host import Access
from gateway.capture.limits import schedule
from gateway.runtimes.python.programs import ProgramPool, load_programs
from gateway.settings import Limits
from tests.interpreters import interpreters

pytestmark = pytest.mark.integration
TRUTH = Path(__file__).with_name("python_truth.py")
SECONDS = 4.0


@dataclass(frozen=True)
class Line:
    """A Python frame."""

    function: str
    file: str
    line: int


@pytest.fixture(scope="module")
def pool() -> Iterator[ProgramPool]:
    loaded, why = load_programs(2)
    if loaded is None:
        pytest.skip(f"no BPF here: {why}")
    yield loaded
    loaded.close()


def capture(pool: ProgramPool, events: tuple[str, ...] = ("cpu",)) -> capture_pb2.Capture:
    limits = Limits(cpu_share=1.0, max_memory_bytes=4 << 30)  # this process also runs the tests
    resources = CaptureResources(Access.MACHINE, limits, {}, frame_programs=pool)
    plan = gateway_pb2.Plan(visit_id=uuid.uuid4().bytes)
    for event in events:
        plan.events.add(
            event=event, rate_hz=199 if event == "cpu" else 0, duration_ms=round(SECONDS * 1000), stacks=True
        )
    runner = CaptureRunner(resources, schedule(plan, limits, resources.capacity()), plan.visit_id)
    for _ in runner.run(threading.Event()):
        pass
    data = zstandard.ZstdDecompressor().decompress(runner.pack().data, max_output_size=1 << 28)
    return capture_pb2.Capture.FromString(data)


def stacks(
    taken: capture_pb2.Capture, script: str
) -> Iterator[tuple[list[Line | tuple[str, int]], int, int]]:
    """Frames leaf first, how the walk ended, and samples, of one script's processes."""
    strings = taken.strings
    python = {
        frame: Line(strings[name], strings[file], line)
        for excerpt in taken.excerpts
        if strings[excerpt.source] == "python"
        for frame, name, file, line in zip(
            excerpt.frame, excerpt.name, excerpt.file, excerpt.line, strict=True
        )
    }
    table, at = [], 0
    for length, end in zip(taken.stacks.length, taken.stacks.end, strict=True):
        frames = taken.stacks.frames[at : at + length]
        at += length
        table.append(
            (
                [python.get(f) or (strings[taken.mappings[taken.frames.mapping[f]].path], f) for f in frames],
                end,
            )
        )
    for segment in taken.segments:
        for profile in segment.profiles:
            if strings[taken.groups[profile.group].script] != script:
                continue
            place = 0
            for delta, count in zip(profile.stack_delta, profile.count, strict=True):
                place += delta
                yield *table[place], count


def judge(truth: dict[str, list[list[object]]], python: list[Line], script: str) -> str:
    """ "complete": a leaf's stack, each caller at its line; "inside": on the way to a leaf; else "wrong"."""
    names = [frame.function.rpartition(".")[2] for frame in reversed(python)]
    lines = [frame.line for frame in reversed(python)]
    best = "wrong"
    for known in truth.values():
        known_names = [name for name, _ in known]
        known_lines = [line for _, line in known]
        size = len(known)
        if names[:size] == known_names and lines[: size - 1] == known_lines[: size - 1]:
            return "complete"
        shared = 0
        while (
            shared < min(len(names), size)
            and names[shared] == known_names[shared]
            and (shared == len(names) - 1 or lines[shared] == known_lines[shared])
        ):
            shared += 1
        # Within what the program calls itself: `state`, `time.monotonic`, the library's own Python functions.
        if (
            shared == len(names)
            or (shared and not python[len(names) - shared - 1].file.endswith(script))
            or (
                shared
                and names[shared] in {"state", "round", "main", "worker", "all_paths", "child", "plain"}
            )
        ):
            best = "inside"
    return best


@pytest.mark.parametrize("interpreter", interpreters())
def test_stacks_are_complete_and_right(interpreter: str, pool: ProgramPool, tmp_path: Path):
    stated = tmp_path / "truth"
    # A name of its own: stacks are found by it, and the same test may run elsewhere on the machine.
    script = tmp_path / f"truth_{uuid.uuid4().hex}.py"
    script.write_text(TRUTH.read_text())
    program = subprocess.Popen(
        [interpreter, "-B", str(script), str(SECONDS + 8), str(stated), "fork"], stdout=subprocess.PIPE
    )
    try:
        # What starts within the capture is read from its registration on only: another test.
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        taken = capture(pool)
        program.wait(timeout=60)
        child = Path(f"{stated}.child")
        while not child.exists():
            time.sleep(0.1)
    finally:
        program.kill()
        program.communicate()
    truth = json.loads(stated.read_text()) | json.loads(child.read_text())
    verdicts: Counter[str] = Counter()
    wrong = []
    native = 0
    for frames, _, count in stacks(taken, script.name):
        python = [frame for frame in frames if isinstance(frame, Line)]
        if not python:
            native += count
            continue
        verdict = judge(truth, python, script.name)
        verdicts[verdict] += count
        if verdict == "wrong":
            wrong.append([(frame.function, frame.line) for frame in reversed(python)])
    total = verdicts.total() + native
    assert total > 50, taken.notes
    assert wrong == []
    assert verdicts.total() / total >= 0.98, (verdicts, native, list(taken.notes))
    assert verdicts["complete"] / total > 0.8, verdicts


COUNTED = re.compile(
    r"(\d+)(?: of \d+ samples in Python code have native| samples of Python's processes are not)"
)


def test_native_stacks_of_a_program_that_starts_within_the_capture_are_counted(
    pool: ProgramPool, tmp_path: Path
):
    """It is registered when the ring is read after its first samples: twice a second."""
    script = tmp_path / "starting.py"
    script.write_text(
        "import time\ndef busy():\n  while time.monotonic() < end: pass\nend = time.monotonic() + 9\nbusy()\n"
    )
    started: list[subprocess.Popen[bytes]] = []
    # A child of the reader that runs the reader's own interpreter: it must not be taken for its parent.
    timers = [
        threading.Timer(seconds, lambda: started.append(subprocess.Popen([sys.executable, str(script)])))
        for seconds in (0.8, 1.05)
    ]
    for timer in timers:
        timer.start()
    try:
        taken = capture(pool)
    finally:
        for timer in timers:
            timer.join()
        for program in started:
            program.kill()
            program.wait()
    native = named = 0
    for frames, _, count in stacks(taken, script.name):
        if any(isinstance(frame, Line) for frame in frames):
            named += count
        else:
            native += count
    assert named > native > 0, (named, native, list(taken.notes))
    counted = sum(int(found[1]) for note in taken.notes if (found := COUNTED.match(note)))
    assert counted >= native, taken.notes
    assert any("its process was not registered yet" in note for note in taken.notes)


def test_several_events_at_once_have_frames_each(pool: ProgramPool, tmp_path: Path):
    code = (
        "import mmap, time\ndef touch():\n  while time.monotonic() < end:\n    with mmap.mmap(-1, 1 << 22) as memory:\n"
        "      for at in range(0, 1 << 22, 4096): memory[at] = 1\nend = time.monotonic() + 9\ntouch()\n"
    )
    script = tmp_path / "touching.py"
    script.write_text(code)
    program = subprocess.Popen(["/usr/bin/env", "python3", str(script)])
    try:
        time.sleep(1)
        taken = capture(pool, ("cpu", "page-faults"))
    finally:
        program.kill()
        program.wait()
    events = {
        taken.strings[segment.event]
        for segment in taken.segments
        for profile in segment.profiles
        if taken.strings[taken.groups[profile.group].script] == script.name
    }
    assert events == {"cpu", "page-faults"}
    named = [
        any(isinstance(f, Line) and f.function == "touch" for f in frames)
        for frames, _, _ in stacks(taken, script.name)
    ]
    assert sum(named) / len(named) > 0.9


HOSTILE = """
import ctypes, sys, time
def honest():
    end = time.monotonic() + 8
    while time.monotonic() < end:
        # A new code object each time, with a large table and a name of its own; then damage to a copy's frame chain.
        space = {}
        exec(compile("\\n" * 50 + "def f%d():\\n" % time.monotonic_ns() + "    x = 1\\n" * 900 + "    return 1", "/hostile/%d" % time.monotonic_ns(), "exec"), space)
        for f in list(space.values()):
            if callable(f):
                for _ in range(20): f()
honest()
"""


def test_a_program_that_makes_code_without_end_is_bounded(pool: ProgramPool, tmp_path: Path):
    script = tmp_path / "hostile.py"
    script.write_text(HOSTILE)
    program = subprocess.Popen(["/usr/bin/env", "python3", str(script)])
    try:
        time.sleep(1)
        taken = capture(pool)
    finally:
        program.kill()
        program.wait()
    assert sum(count for _, _, count in stacks(taken, script.name)) > 20
    assert all(not segment.lost or sum(segment.lost) == 0 for segment in taken.segments)
    assert len(taken.excerpts) < 10_000


@pytest.fixture
def forging(tmp_path: Path) -> Iterator[str]:
    """A C program that exports what CPython exports, with a table of offsets and pointers into nowhere."""
    source = tmp_path / "forging.c"
    source.write_text(
        "#include <stdint.h>\n"
        "uint64_t PyCode_Type[50], PyUnicode_Type[50], PyBytes_Type[50];\n"
        "const unsigned long Py_Version = 0x030b00f0;\n"
        "struct { uint64_t words[2000]; } _PyRuntime = {{1, 2, 3}};\n"
        "int main(void) { uint64_t *w = _PyRuntime.words, n = 0;\n"
        "  for (int i = 0; i < 2000; i++) w[i] = (uint64_t)&w[(i * 7) % 2000];\n"
        "  for (;;) { n++; w[n % 2000] = n * 0x9e3779b97f4a7c15u; w[(n + 9) % 2000] = (uint64_t)&w[n % 1900]; } }\n"
    )
    made = tmp_path / "python3.11"
    subprocess.run(["cc", "-O1", "-rdynamic", "-o", str(made), str(source)], check=True)
    program = subprocess.Popen([str(made)])
    yield made.name
    program.kill()
    program.wait()


def test_forged_interpreters_keep_their_native_stacks(forging: str, pool: ProgramPool):
    taken = capture(pool)
    groups = [i for i, group in enumerate(taken.groups) if taken.strings[group.comm] == forging]
    assert groups
    samples = sum(
        sum(profile.count)
        for segment in taken.segments
        for profile in segment.profiles
        if profile.group in groups
    )
    assert samples > 50
    assert not [excerpt for excerpt in taken.excerpts if excerpt.group in groups]
