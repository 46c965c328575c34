"""GIVEN docs/selections.md WHEN its example is computed THEN every row of it is what comes out."""

import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest

from storage.errors import BadSelection
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.selections import grammar, patterns, selection, times
from storage.query.selections.label_names import MACHINE
from storage.query.selections.matchers import ALIASES, FRAME_NAMES
from storage.query.selections.selection import PATTERNS, parse_selection
from storage.query.stack_filter import filter_stacks
from storage.query.stacks.function_names import FunctionRow, Functions
from storage.query.stacks.stack_tree import Stacks, built
from storage.schema import DIMENSIONS

DOCUMENT = (Path(__file__).parents[4] / "docs" / "selections.md").read_text()
EXAMPLE = DOCUMENT.split("## An example, traced")[1].split("\n## ")[0]
NAMES = {
    "main": ("", "prog"),
    "parse": ("json/parse.c", "prog"),
    "malloc": ("", "libc.so.6"),
    "memcpy": ("", "libc.so.6"),
}
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def counted(text: str) -> Counter[str]:
    """Samples by stack of `a;b 3, c 4`."""
    return Counter({stack: int(n) for stack, n in (one.rsplit(" ", 1) for one in text.split(", "))})


STACKS = counted(", ".join(re.findall(r"^    (\S+ \d+)$", EXAMPLE, re.MULTILINE)))
ROWS = re.findall(r"^\| `(.*)` \| (.*) \| (\d+) % \|$", EXAMPLE, re.MULTILINE)


def test_the_example_has_rows():
    assert len(ROWS) == 12
    assert STACKS.total() == 100


@pytest.mark.parametrize(("asked", "left", "kept"), ROWS)
def test_the_example(asked: str, left: str, kept: str):
    query = {"select": asked} if asked.startswith("{") else dict(parse_qsl(asked))
    functions, ids = Functions(), dict(zip(NAMES, range(1, 9), strict=False))
    functions._grow(9)
    for name, (file, binary) in NAMES.items():
        row = FunctionRow(ids[name], name, file, binary, Status.FULL, Kind.USER)
        functions._put(row, row.id, keyed=False)
    stacks = [stack.split(";") for stack in STACKS]
    frames = np.array([ids[name] for stack in stacks for name in stack], np.int32)
    every = np.arange(len(stacks))
    shape = built(Stacks(every, frames, np.array([len(stack) for stack in stacks]))).shape(every)
    found = filter_stacks(functions, shape, parse_selection(now=NOON, **query))
    ends: Counter[str] = Counter()
    for samples, keep, leaf in zip(STACKS.values(), found.keep, found.shape.leaf, strict=True):
        path, node = [], int(leaf)
        while node:
            path.append(functions.row(int(found.shape.function[node])).name)
            node = int(found.shape.parent[node])
        ends[";".join(reversed(path))] += samples if keep else 0
    assert +ends == counted(left)
    assert (+ends).total() == int(kept)


def test_every_parameter_and_name_is_told():
    for name in PATTERNS:
        assert f"| `{name}` | `--{name.replace('_', '-')}` |" in DOCUMENT
    for name in (*DIMENSIONS, MACHINE, *FRAME_NAMES, *ALIASES):
        assert f"`{name}`" in DOCUMENT


def test_the_limits_are_those_told():
    limits = DOCUMENT.split("| limit |")[1].replace("4 096", "4096")
    told = [int(number) for number in re.findall(r"\d+", limits.split("Selections with conditions")[0])]
    own = [grammar.LONGEST, grammar.MOST, grammar.LONGEST_NAME, patterns.LONGEST]
    assert [n for n in told if n not in {2, 8, 1}] == [*own, times.LONGEST, selection.LONGEST_NAME]


def test_the_mistake_is_where_it_is_shown():
    shown = re.search(r"fleetprof: (.*)\n    SELECT:\n      (.*)\n( *)\^", DOCUMENT)
    assert shown is not None
    with pytest.raises(BadSelection, match=re.escape(shown[1])) as caught:
        grammar.parse_matchers(shown[2])
    assert caught.value.at == len(shown[3]) - 6
