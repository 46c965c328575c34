"""A Go program of small functions: each stack has the caller that the program's text has."""

import os
import shutil
import subprocess
from bisect import bisect_right
from collections import Counter
from pathlib import Path

import pytest

from tests.gateway_daemon import (
    DEADLINE_S,
    StackOf,
    ask,
    function_starts,
    groups_where,
    plan,
    running,
    stacks_of,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted")]

SOURCE = """package main

//go:noinline
func leaf(x int) int { return x*2654435761 + 1 }

//go:noinline
func middle(x int) int {
	var kept [4]int
	kept[x&3] = leaf(x)
	return kept[x&3] + leaf(kept[(x+1)&3])
}

//go:noinline
func outer(rounds int) (sum int) {
	for round := 0; round < rounds; round++ {
		sum += middle(round)
	}
	return
}

func main() {
	sum := 0
	for {
		sum += outer(100000)
	}
}
"""
CALLERS = {"main.leaf": "main.middle", "main.middle": "main.outer", "main.outer": "main.main"}
ENOUGH = 50
SECONDS = 2
TRIES = 5


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = shutil.which("go")
    if go is None:
        pytest.skip("go is not installed")
    folder = tmp_path_factory.mktemp("go")
    (folder / "small.go").write_text(SOURCE)
    caches = {"HOME": str(folder), "GOCACHE": str(folder / "cache"), "GO111MODULE": "off", "CGO_ENABLED": "0"}
    subprocess.run([go, "build", "-o", "small", "small.go"], cwd=folder, env=os.environ | caches, check=True)
    return folder / "small"


@pytest.fixture(scope="module")
def stacks(program: Path, tmp_path_factory: pytest.TempPathFactory) -> list[StackOf]:
    with (
        running(tmp_path_factory.mktemp("gateway"), "--max-cpu-percent", "50") as daemon,
        daemon.stub() as stub,
        subprocess.Popen([program]) as process,
    ):
        try:
            found: list[StackOf] = []
            for _ in range(TRIES):
                capture = ask(stub, plan(seconds=SECONDS, rate_hz=499)).capture
                found += stacks_of(capture, groups_where(capture, exe=str(program)))
                if sum(stack.count for stack in found) >= 4 * ENOUGH:
                    break
        finally:
            process.kill()
            process.wait(DEADLINE_S)
    return found


@pytest.mark.slow
def test_each_function_has_its_caller(program: Path, stacks: list[StackOf]):
    """At every other sample the function has no frame yet, no more, or needs none."""
    functions = sorted((start, name) for name, start in function_starts(program).items())
    starts = [start for start, _ in functions]
    counted: Counter[tuple[str, str]] = Counter()
    for stack in stacks:
        if any(path != str(program) for path, *_ in stack.frames):
            continue  # interrupted by the kernel
        names = [
            functions[bisect_right(starts, offset - (not exact)) - 1][1]
            for _, offset, _, exact in stack.frames[:2]
        ]
        if names[0] in CALLERS:
            counted[names[0], names[-1]] += stack.count
    assert set(counted) <= set(CALLERS.items()), counted
    assert counted["main.leaf", "main.middle"] >= ENOUGH
    assert counted["main.middle", "main.outer"] >= ENOUGH
