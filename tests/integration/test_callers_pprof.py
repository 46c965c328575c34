"""Callers and callees against `go tool pprof -peek` on the same stacks."""

import random
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.shapes.occurrences import CallRows, Occurrences
from storage.query.stacks.function_names import FunctionRow, Functions
from storage.query.subject import Subject
from tests import go_pprof
from tests.random_stacks import planted
from tests.stack_filter_oracle import Frame

pytestmark = pytest.mark.integration

NAMES = ["main", "run", "parse", "visit", "malloc", "walk", "emit"]
Side = dict[str, int]


class Named(Functions):
    """The functions of `NAMES`, from 1 on."""

    def __init__(self) -> None:
        super().__init__()
        self._grow(len(NAMES) + 1)
        for id_, name in enumerate(NAMES, 1):
            self._put(FunctionRow(id_, name, "", "", Status.FULL, Kind.USER), id_, keyed=False)


@pytest.fixture(scope="module")
def stacks() -> list[tuple[tuple[int, ...], int]]:
    """(functions, outermost first; value); among so few recursion is common, direct and through others."""
    draw = random.Random(5)
    ids = range(1, len(NAMES) + 1)
    found = sorted({tuple(draw.choices(ids, k=draw.randint(1, 8))) for _ in range(150)})
    return [(stack, draw.randint(1, 60)) for stack in found]


def peeked(profile: Path, name: str) -> tuple[Side, int, int, Side]:
    """What pprof shows around a function: callers, its flat and cum, callees."""
    text = go_pprof.ask(profile, f"-peek=^{name}$").split("context")[1].split("\n---")[1]
    above, flat, cum, below = re.split(
        rf"^ *(\d+) +[\d.]+% +[\d.]+% +(\d+) +[\d.]+% +\| {name}$", text, flags=re.MULTILINE
    )
    sides = (
        {found[2]: int(found[1]) for found in re.finditer(r"(\d+) +[\d.]+% \|   (\w+)$", side, re.MULTILINE)}
        for side in (above, below)
    )
    callers, callees = sides
    return callers, int(flat), int(cum), callees


def ours(rows: CallRows, itself: int) -> Side:
    """Without calls of a function by itself and stacks that begin with it, which pprof does not show."""
    totals = zip(rows.functions.tolist(), rows.total.tolist(), strict=True)
    return {NAMES[id_ - 1]: total for id_, total in totals if id_ not in {0, itself}}


def test_calls_around_every_function_are_pprofs(stacks, tmp_path: Path):
    profile = tmp_path / "stacks.pb"
    profile.write_bytes(
        go_pprof.encode([(Frame(name),) for name in NAMES], [(value, stack[::-1]) for stack, value in stacks])
    )
    facts = planted([(stack, value, 1.0) for stack, value in stacks])
    samples = SimpleNamespace(shape=facts.shape, facts=facts, weighted=facts.weighted)
    for id_, name in enumerate(NAMES, 1):
        found = Occurrences.of(Named(), samples, Subject(id_))
        itself = found.together()
        callers, flat, cum, callees = peeked(profile, name)
        assert (itself.own.tolist(), itself.total.tolist()) == ([flat], [cum])
        assert ours(found.callers(), id_) == callers
        assert ours(found.callees(), id_) == callees
        assert int(found.callers().own.sum()) == flat
        assert len(callers) + len(callees) > 4
        for tree in (found.callers_tree(10_000), found.callees_tree(10_000)):
            assert int(tree.total[0]) == cum == int(tree.own.sum())
            assert np.array_equal(tree.total, _from_own(tree.parent, tree.own))


def _from_own(parent: np.ndarray, own: np.ndarray) -> np.ndarray:
    total = own.copy()
    for node in range(len(parent) - 1, 0, -1):
        total[parent[node]] += total[node]
    return total
