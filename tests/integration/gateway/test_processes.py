"""Processes that change while they are sampled: each sample belongs to the program that ran then."""

import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetpb import capture_pb2
from gateway.containers.cgroup_path import choose_cgroup
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

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    made = tmp_path_factory.mktemp("changing")
    for name in ("changing", "moving"):
        subprocess.run([compiler, "-O2", "-o", made / name, HERE / f"{name}.c"], check=True)
    for name in ("becomes", "becomes-it", "has-children", "starts-others", "blink"):
        shutil.copy(made / "changing", made / name)
    options = ["-m32", "-O1", "-nostdlib", "-static", "-fno-pic", "-no-pie"]
    subprocess.run([compiler, *options, "-o", made / "spin32", HERE / "spin32.c"], check=False)
    return made


@pytest.fixture(scope="module")
def capture(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[capture_pb2.Capture]:
    commands: list[list[str | Path]] = [
        [folder / "becomes", "exec", "2.5", folder / "becomes-it"],
        [folder / "has-children", "forks", "0.03"],
        [folder / "starts-others", "execs", "0.03", folder / "blink"],
        [folder / "moving", "1.5"],
    ]
    if (folder / "spin32").exists():
        commands.append([folder / "spin32"])
    started: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        started.extend(subprocess.Popen(command) for command in commands)

    with (
        running(tmp_path_factory.mktemp("gateway"), "--max-cpu-percent", "50") as daemon,
        daemon.stub() as stub,
    ):
        try:
            # Not at the beginning: on a busy machine the events open seconds later, and `becomes` ends after 2.5 s.
            yield ask(stub, plan(seconds=6, rate_hz=333), on_sampling=start).capture
        finally:
            for process in started:
                process.kill()
                process.wait(DEADLINE_S)


def stacks_in(capture: capture_pb2.Capture, program: Path) -> list[StackOf]:
    return stacks_of(capture, groups_where(capture, exe=str(program)))


def complete(stacks: list[StackOf], *, at_least: int = 10) -> bool:
    ends = ends_of(stacks)
    assert ends.total() >= at_least, ends
    assert ends["COMPLETE"] >= 0.9 * ends.total(), ends
    return True


@pytest.mark.slow
def test_a_process_that_becomes_another_program_is_in_both_groups(capture: capture_pb2.Capture, folder: Path):
    for name in ("becomes", "becomes-it"):
        stacks = stacks_in(capture, folder / name)
        assert complete(stacks)
        paths = {path for stack in stacks for path, *_ in stack.frames if path.startswith(str(folder))}
        assert paths == {str(folder / name)}, "frames of the other program"
        (group,) = groups_where(capture, exe=str(folder / name))
        assert capture.strings[capture.groups[group].comm] == name
        assert capture.groups[group].main_mapping
        main = capture.mappings[capture.groups[group].main_mapping - 1]
        assert capture.strings[main.path] == str(folder / name)


def test_children_that_live_for_30_ms_are_whole(capture: capture_pb2.Capture, folder: Path):
    """They are gone when their samples are read, and their parent is never sampled."""
    stacks = stacks_in(capture, folder / "has-children")
    assert complete(stacks)
    spin = function_starts(folder / "has-children")["spin"]
    assert any(frame[2] == spin for stack in stacks for frame in stack.frames)
    groups = groups_where(capture, exe=str(folder / "has-children"))
    assert sum(capture.groups[group].processes for group in groups) >= 3


def test_programs_that_run_for_30_ms_have_their_name_and_control_group(
    capture: capture_pb2.Capture, folder: Path
):
    stacks = stacks_in(capture, folder / "blink")
    assert complete(stacks)
    expected = choose_cgroup(Path("/proc/self/cgroup").read_text())
    samples: Counter[str] = Counter()
    for group in groups_where(capture, comm="blink"):
        count = sum(stack.count for stack in stacks_of(capture, [group]))
        samples[capture.strings[capture.groups[group].cgroup]] += count
    assert samples[expected] >= 0.9 * samples.total()


def test_code_made_at_run_time_is_walked_through_also_after_it_was_moved(
    capture: capture_pb2.Capture, folder: Path
):
    stacks = stacks_in(capture, folder / "moving")
    assert complete(stacks, at_least=30)
    mappings = [
        capture.mappings[capture.frames.mapping[frame]].kind for frame in range(len(capture.frames.mapping))
    ]
    assert capture_pb2.Mapping.ANONYMOUS in mappings
    # One that was interrupted while its code was being moved may end at its leaf.
    through = [s for s in stacks if not s.frames[0][0] and s.end == capture_pb2.STACK_END_COMPLETE]
    callers = {stack.frames[1] for stack in through}
    assert {path for path, *_ in callers} == {str(folder / "moving")}
    # main calls run from three places: before mprotect, after it, and after mremap.
    assert len({stack.frames[2] for stack in through}) == 2


def test_a_32_bit_program_is_a_leaf_that_says_so(capture: capture_pb2.Capture, folder: Path):
    if not (folder / "spin32").exists():
        pytest.skip("the compiler makes no 32-bit programs")
    stacks = stacks_in(capture, folder / "spin32")
    if not stacks:
        pytest.skip("rare: this kernel runs no 32-bit programs")
    user = [stack for stack in stacks if not any(path == "[kernel]" for path, *_ in stack.frames)]
    assert ends_of(user).keys() == {"NO_UNWIND"}
    assert all(len(stack.frames) == 1 for stack in user)
    assert {stack.frames[0][0] for stack in user} == {str(folder / "spin32")}


def test_nothing_was_lost(capture: capture_pb2.Capture):
    assert set(capture.segments[0].lost) == {0}
