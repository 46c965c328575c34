"""Programs that are hard to walk: each walk goes to the thread's start, or says truly why it does not."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetpb import capture_pb2
from tests.gateway_daemon import (
    DEADLINE_S,
    StackOf,
    ask,
    ends_of,
    function_starts,
    groups_where,
    plan,
    running,
    stacks_of,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted")]

SOURCE = Path(__file__).with_name("odd.c")
MODES = ("mappings", "frameless", "vforks", "threads", "handler", "vdso", "deep", "wide")
ENOUGH = 15
SECONDS = 3
TRIES = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program once for each mode, so that each is a group of its own."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    made = tmp_path_factory.mktemp("odd")
    subprocess.run([compiler, "-O2", "-pthread", "-o", made / "odd", SOURCE], check=True)
    for mode in MODES:
        shutil.copy(made / "odd", made / mode)
    for name, options in (("static-pie", ["-static-pie"]), ("static", ["-static"]), ("calls32", ["-m32"])):
        # Not every compiler here has the libraries for it.
        subprocess.run(
            [compiler, "-O2", "-pthread", *options, "-o", made / name, SOURCE],
            check=False,
            capture_output=True,
        )
    return made


@pytest.fixture(scope="module")
def captures(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[capture_pb2.Capture]]:
    """Captures until each program has been sampled often enough; all are looked at together."""
    commands = [[folder / mode, mode] for mode in MODES]
    commands += [[folder / name, "vdso"] for name in ("static-pie", "static") if (folder / name).exists()]
    commands += [[folder / "calls32", "calls"]] if (folder / "calls32").exists() else []
    started: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        if not started:  # not before: the gateway's own start would have to wait for them
            started.extend(subprocess.Popen(command) for command in commands)

    with (
        running(tmp_path_factory.mktemp("gateway"), "--max-cpu-percent", "50") as daemon,
        daemon.stub() as stub,
    ):
        try:
            taken: list[capture_pb2.Capture] = []
            for _ in range(TRIES):
                taken.append(ask(stub, plan(seconds=SECONDS, rate_hz=499), on_begin=start).capture)
                if all(ends_of(stacks_in(taken, command[0])).total() >= 2 * ENOUGH for command in commands):
                    break
        finally:
            for process in started:
                process.kill()
                process.wait(DEADLINE_S)
        yield taken


def stacks_in(captures: list[capture_pb2.Capture], program: Path) -> list[StackOf]:
    found = [stacks_of(capture, groups_where(capture, exe=str(program))) for capture in captures]
    return [stack for stacks in found for stack in stacks]


def share(stacks: list[StackOf], *ends: str) -> float:
    counted = ends_of(stacks)
    assert counted.total() >= ENOUGH, counted
    return sum(counted[end] for end in ends) / counted.total()


def named(stacks: list[StackOf], program: Path, function: str) -> list[StackOf]:
    """Those that the function is in."""
    start = function_starts(program)[function]
    return [s for s in stacks if any(path == str(program) and at == start for path, _, at, _ in s.frames)]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["mappings", "vforks", "threads", "vdso"])
def test_walks_reach_the_threads_start(captures: list[capture_pb2.Capture], folder: Path, mode: str):
    # While a program is being started its task has no user part, or no mappings yet.
    started = [stack for stack in stacks_in(captures, folder / mode) if stack.frames[0][0] != "[kernel]"]
    assert share(started, "COMPLETE") >= 0.95


def test_code_in_one_of_thousands_of_mappings_is_found(captures: list[capture_pb2.Capture], folder: Path):
    stacks = stacks_in(captures, folder / "mappings")
    through = [stack for stack in stacks if not stack.frames[0][0]]
    assert through
    # At its first two instructions and its last it has no frame; the caller is found by the code itself.
    assert {stack.frames[1][0] for stack in through if len(stack.frames) > 1} == {str(folder / "mappings")}
    assert all(len(stack.frames) > 1 for stack in through)


def test_made_code_without_a_frame_has_its_caller(captures: list[capture_pb2.Capture], folder: Path):
    program = str(folder / "frameless")
    stacks = [stack for stack in stacks_in(captures, folder / "frameless") if not stack.frames[0][0]]
    made = [sum(not path for path, *_ in stack.frames) for stack in stacks]
    assert all(stack.frames[count][0] == program for stack, count in zip(stacks, made, strict=True))
    # All but a few instructions are in the function that is called.
    both = sum(stack.count for stack, count in zip(stacks, made, strict=True) if count == 2)
    assert both >= 0.5 * sum(stack.count for stack in stacks) > 0


def test_what_vfork_started_is_itself(captures: list[capture_pb2.Capture], folder: Path):
    program = folder / "vforks"
    stacks = stacks_in(captures, program)
    assert named(stacks, program, "spin")
    assert not any(path for s in stacks for path, *_ in s.frames if path.startswith("/usr/bin/"))


def test_each_thread_begins_where_the_c_library_starts_it(captures: list[capture_pb2.Capture], folder: Path):
    program = folder / "threads"
    stacks = named(stacks_in(captures, program), program, "work")
    begins = [any(at == function_starts(program)["thread"] for *_, at, _ in s.frames) for s in stacks]
    assert begins.count(True) >= 0.9 * len(begins)


def test_below_a_handler_on_its_own_stack_nothing_was_copied(
    captures: list[capture_pb2.Capture], folder: Path
):
    program = folder / "handler"
    inside = named(stacks_in(captures, program), program, "on_timer")
    assert inside
    assert ends_of(inside).keys() == {"TRUNCATED"}
    # What the signal interrupted is still known, and is itself an instruction, not a return address.
    assert all(len(stack.frames) >= 3 and stack.frames[-1][3] for stack in inside)


def test_the_vdso_has_its_callers(captures: list[capture_pb2.Capture], folder: Path):
    stacks = stacks_in(captures, folder / "vdso")
    inside = [stack for stack in stacks if stack.frames[0][0] == "[vdso]"]
    assert sum(stack.count for stack in inside) >= ENOUGH / 2
    assert all(any(path == str(folder / "vdso") for path, *_ in stack.frames) for stack in inside)


@pytest.mark.parametrize(("mode", "ends"), [("deep", {"TOO_DEEP", "TRUNCATED"}), ("wide", {"TRUNCATED"})])
def test_deep_recursion_says_that_it_is_cut(
    captures: list[capture_pb2.Capture], folder: Path, mode: str, ends: set[str]
):
    program = folder / mode
    stacks = stacks_in(captures, program)
    assert share(stacks, *ends) >= 0.95
    # Nearest the leaf is what is told: the function that recurses follows at once.
    assert len(named(stacks, program, mode)) == len(named(stacks, program, "spin"))


@pytest.mark.parametrize("kind", ["static-pie", "static"])
def test_programs_without_a_loader(captures: list[capture_pb2.Capture], folder: Path, kind: str):
    if not (folder / kind).exists():
        pytest.skip(f"the compiler makes no {kind} programs")
    assert share(stacks_in(captures, folder / kind), "COMPLETE") >= 0.95


def test_a_32_bit_program_is_its_leaf_below_the_kernels_part(
    captures: list[capture_pb2.Capture], folder: Path
):
    if not (folder / "calls32").exists():
        pytest.skip("the compiler makes no 32-bit programs")
    stacks = stacks_in(captures, folder / "calls32")
    if not stacks:
        pytest.skip("rare: this kernel runs no 32-bit programs")
    assert share(stacks, "NO_UNWIND") >= 0.95
    in_kernel = [stack for stack in stacks if stack.frames[0][0] == "[kernel]"]
    assert in_kernel
    for stack in in_kernel:
        if stack.end == capture_pb2.STACK_END_NO_UNWIND:
            user = [path for path, *_ in stack.frames if path != "[kernel]" and not path.startswith("[")]
            assert len(user) <= 1
