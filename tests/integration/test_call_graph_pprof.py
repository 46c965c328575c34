"""Calls against `go tool pprof -dot` on the same stacks, whole and with functions left out."""

import random
import re
from pathlib import Path

import numpy as np
import pytest

from storage.query.shapes.call_edges import calls_between, functions_of
from storage.query.shapes.frame_tree import Borne
from tests import go_pprof
from tests.random_stacks import planted
from tests.stack_filter_oracle import Frame

pytestmark = pytest.mark.integration

NAMES = ["main", "run", "parse", "visit", "malloc", "memcpy", "walk", "emit", "sort"]
Call = tuple[str, str]


@pytest.fixture(scope="module")
def samples() -> list[tuple[int, tuple[int, ...]]]:
    """(value, functions from 1 on, outermost first); among so few recursion is common, direct and through others."""
    draw = random.Random(3)
    ids = range(1, len(NAMES) + 1)
    stacks = sorted({tuple(draw.choices(ids, k=draw.randint(1, 9))) for _ in range(200)})
    return [(draw.randint(1, 60), stack) for stack in stacks]


@pytest.fixture(scope="module")
def profile(samples, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pprof") / "calls.pb"
    path.write_bytes(
        go_pprof.encode(
            [(Frame(name),) for name in NAMES], [(value, stack[::-1]) for value, stack in samples]
        )
    )
    return path


@pytest.fixture(scope="module")
def borne(samples) -> Borne:
    facts = planted([(stack, value, 1.0) for value, stack in samples])
    return Borne.of(facts.shape, facts.units, facts.weighted)


def drawn(profile: Path, *options: str) -> tuple[set[str], dict[Call, tuple[int, bool]]]:
    """Functions of pprof's graph, and its edges with their value and whether they are residual."""
    text = go_pprof.ask(profile, "-dot", *options)
    nodes = {found[1] for found in re.finditer(r'^N\d+ \[label="(\w+)\\n', text, re.MULTILINE)}
    edges = {}
    for found in re.finditer(
        r'^N\d+ -> N\d+ \[.*? tooltip="(\w+) (->|\.\.\.) (\w+) \((\d+)\)"', text, re.MULTILINE
    ):
        edges[found[1], found[3]] = int(found[4]), found[2] == "..."
    return nodes, edges


def calls(borne: Borne, functions: set[str]) -> dict[Call, tuple[int, bool]]:
    """Ours, without calls of a function by itself, which pprof does not draw."""
    found = calls_between(borne, np.array(sorted(NAMES.index(name) + 1 for name in functions)))
    columns = (found.caller.tolist(), found.callee.tolist(), found.units.tolist(), found.residual.tolist())
    return {
        (NAMES[caller - 1], NAMES[callee - 1]): (units, residual)
        for caller, callee, units, residual in zip(*columns, strict=True)
        if caller != callee
    }


def test_all_calls_are_pprofs(profile: Path, borne: Borne):
    nodes, edges = drawn(profile)
    assert nodes == set(NAMES)
    assert edges == calls(borne, nodes)
    assert len(edges) > 50


@pytest.mark.parametrize("count", [3, 5, 7])
def test_calls_past_functions_left_out_are_pprofs(profile: Path, borne: Borne, count: int):
    nodes, edges = drawn(profile, f"-nodecount={count}")
    assert len(nodes) == count
    ours = calls(borne, nodes)
    assert edges.items() <= ours.items()
    missing = ours.keys() - edges.keys()
    assert all(ours[call][1] for call in missing), "pprof draws no residual edge where others lead there too"
    assert edges


def test_functions_have_pprofs_sums(profile: Path, borne: Borne):
    found = functions_of(borne)
    columns = (found.function.tolist(), found.own.tolist(), found.total.tolist())
    ours = {NAMES[function - 1]: (own, total) for function, own, total in zip(*columns, strict=True)}
    assert go_pprof.top(go_pprof.ask(profile, "-top")) == ours
