"""Filters on frames against `go tool pprof` on the same stacks."""

import random
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.selections.selection import Selection
from storage.query.stack_filter import Filtered, filter_stacks
from storage.query.stacks.function_names import FunctionRow, Functions
from storage.query.stacks.stack_tree import Stacks, built
from tests import go_pprof
from tests.go_pprof import Location
from tests.stack_filter_oracle import Frame

pytestmark = pytest.mark.integration

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
FRAMES = [
    Frame("main", "/src/main.c", "/bin/prog"),
    Frame("run", "/src/run.c", "/bin/prog"),
    Frame("parse", "/src/parse.c", "/bin/prog"),
    Frame("parse_json", "", "/lib/libjson.so"),
    Frame("std::vector<int>::push_back(int&&)", "/usr/include/vector", "/bin/prog"),
    Frame("malloc", "/libc/malloc.c", "/lib/libc.so.6"),
    Frame("memcpy", "", "/lib/libc.so.6"),
    Frame("größer", "/src/größer.c", "/bin/prog"),
    Frame("[unknown]"),
    Frame("vmlinux_entry", "entry.S", "[kernel]"),
]
ALONE: list[Location] = [(frame,) for frame in FRAMES]
INLINED: list[Location] = [(FRAMES[2], FRAMES[1]), (FRAMES[4], FRAMES[2], FRAMES[0]), (FRAMES[7], FRAMES[1])]
OPTIONS: list[dict[str, str]] = [
    {},
    {"focus": "parse"},
    {"focus": r"^/lib/libc\.so"},  # only binaries match
    {"focus": r"\.c$"},
    {"focus": "nowhere"},
    {"ignore": "malloc|memcpy"},
    {"ignore": "."},
    {"focus": "parse", "ignore": "json"},
    {"focus": "parse", "ignore": "parse"},
    {"hide": "parse"},
    {"hide": "prog$"},
    {"hide": "^main$|größ"},
    {"hide": "(?i)MALLOC|[[:punct:]]unknown"},
    {"hide": "."},
    {"hide": "nowhere"},
    {"hide": "^$"},  # functions without a file, and no binary
    {"show": "libc|libjson"},
    {"show": "nowhere"},
    {"show": "^(run|parse|malloc)$"},
    {"hide": "json", "show": "parse"},
    {"hide": "libc", "show": "malloc|main"},
    {"show_from": "parse"},
    {"show_from": "run|kernel"},
    {"show_from": "nowhere"},
    {"show_from": "/src/"},
    {"hide": "parse$", "show_from": "parse"},
    {"show": "parse|malloc", "show_from": "malloc"},
    {"focus": "memcpy", "ignore": "kernel", "hide": "run", "show": "src|libc", "show_from": "parse|malloc"},
    {"focus": "run", "hide": "run"},  # a stack is kept for what is then hidden
    {"focus": r"std::vector<int>::push_back\(", "hide": r"\Q(int&&)\E"},
]


@dataclass(frozen=True)
class Recorded:
    """The same stacks for both."""

    file: Path
    locations: list[Location]
    samples: list[tuple[int, list[int]]]

    def filtered(self, selection: Selection) -> Filtered:
        """What our tree makes of them."""
        stacks = [
            [frame for id_ in ids for frame in self.locations[id_ - 1]][::-1] for _, ids in self.samples
        ]
        numbers = np.array([FRAMES.index(frame) + 1 for stack in stacks for frame in stack], np.int32)
        ids = np.arange(len(stacks))
        shape = built(Stacks(ids, numbers, np.array([len(stack) for stack in stacks]))).shape(ids)
        functions = Functions()
        functions._grow(len(FRAMES) + 1)
        for number, frame in enumerate(FRAMES, 1):
            row = FunctionRow(number, frame.function, frame.file, frame.binary, Status.FULL, Kind.USER)
            functions._put(row, number, keyed=False)
        return filter_stacks(functions, shape, selection)

    def rows(self, left: Filtered) -> dict[str, tuple[int, int]]:
        """(self, total) by function of what is left."""
        values = np.array([value for value, _ in self.samples])[left.keep]
        shape = replace(left.shape, leaf=left.shape.leaf[left.keep])
        own = shape.self_at(values)
        totals = shape.totals(own)
        rows: dict[str, tuple[int, int]] = {}
        for node in np.flatnonzero(totals).tolist():
            if shape.function[node]:
                name = FRAMES[int(shape.function[node]) - 1].function
                flat, cum = rows.get(name, (0, 0))
                more = int(totals[node]) if shape.outermost[node] else 0
                rows[name] = flat + int(own[node]), cum + more
        return rows


def recorded(path: Path, locations: list[Location], seed: int) -> Recorded:
    """Some hundred stacks of these locations; recursion is common among so few."""
    draw = random.Random(seed)
    ids = range(1, len(locations) + 1)
    distinct = {tuple(draw.choices(ids, k=draw.randint(1, 7))) for _ in range(150)}
    samples = [(draw.randint(1, 50), list(stack)) for stack in sorted(distinct)]
    path.write_bytes(go_pprof.encode(locations, samples))
    return Recorded(path, locations, samples)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded(tmp_path_factory.mktemp("pprof") / "alone.pb", ALONE, 1)


@pytest.fixture(scope="module")
def inlined(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded(tmp_path_factory.mktemp("pprof") / "inlined.pb", [*ALONE, *INLINED], 2)


def innermost_first(left: Filtered, leaf: int) -> tuple[int, ...]:
    """The functions of a stack that ends at this node."""
    found: list[int] = []
    while leaf:
        found.append(int(left.shape.function[leaf]))
        leaf = int(left.shape.parent[leaf])
    return tuple(found)


def flags(options: dict[str, str]) -> list[str]:
    return [f"-{name}={pattern}" for name, pattern in options.items()]


def selection(options: dict[str, str]) -> Selection:
    return Selection(NOON.replace(hour=11), NOON, **options)  # type: ignore[arg-type] - names of patterns


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_stacks_are_left_as_pprof_leaves_them(alone: Recorded, options: dict[str, str]):
    left = alone.filtered(selection(options))
    ours: Counter[tuple[int, ...]] = Counter()
    for (value, _), keep, leaf in zip(
        alone.samples, left.keep.tolist(), left.shape.leaf.tolist(), strict=True
    ):
        ours[innermost_first(left, leaf)] += value if keep else 0
    theirs: Counter[tuple[int, ...]] = Counter()
    for value, ids in go_pprof.raw(go_pprof.ask(alone.file, "-raw", *flags(options))):
        theirs[ids] += value
    assert +ours == theirs


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_functions_have_the_flat_and_cumulative_sums_of_pprof(
    alone: Recorded, inlined: Recorded, options: dict[str, str]
):
    # With inlined frames pprof's show_from also cuts below the match (docs/selections.md).
    profile = alone if "show_from" in options else inlined
    ours = profile.rows(profile.filtered(selection(options)))
    assert go_pprof.top(go_pprof.ask(profile.file, "-top", *flags(options))) == ours
