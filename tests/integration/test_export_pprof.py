"""pprof profiles of random stacks, against `go tool pprof` and counting by hand."""

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from services.api.formats import pprof
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.stacks.function_names import FunctionRow
from tests import go_pprof
from tests.stack_tables import GROUPS, Fact, Made

pytestmark = pytest.mark.integration

NAMES = [
    "main",
    "f(int)",
    "f(long)",
    "operator new(unsigned long)",
    "std::vector<int, std::allocator<int> >::push_back(int&&)",
    "größer",
    "do_syscall_64",
    "[stack: cut short]",
    "a b;c",
]


def random_case(seed: int) -> Made:
    draw = random.Random(seed)
    functions = tuple(
        FunctionRow(id_, name, draw.choice(["", "a.c", "b.c"]), draw.choice(["", "prog", "libc.so.6"]), Status.FULL, Kind.USER)
        for id_, name in enumerate(NAMES, 1)
    )  # fmt: skip
    facts = tuple(
        Fact(
            tuple(draw.choices(range(1, len(NAMES) + 1), k=draw.randint(1, 7))),
            draw.randrange(len(GROUPS)),
            draw.randint(1, 10_000),
            draw.uniform(1, 100),
        )
        for _ in range(draw.randint(1, 80))
    )
    return Made(functions, facts, grouped=seed % 2 == 0)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_go_tool_pprof_reads_the_same_sums(seed: int, tmp_path: Path) -> None:
    case = random_case(seed)
    path = tmp_path / "random.pb.gz"
    path.write_bytes(b"".join(pprof.packed(case.profile)))
    own: Counter = Counter()
    total: Counter = Counter()
    stacks: Counter = Counter()
    for fact in case.facts:
        names = [case.functions[id_ - 1].name for id_ in fact.stack]
        own[names[-1]] += fact.samples
        for name in set(names):
            total[name] += fact.samples
        labels = GROUPS[fact.group] if case.grouped else ()
        stacks[tuple(names), labels] += fact.samples
    expected = {name: (own[name], total[name]) for name in total}
    for order in ("-flat", "-cum"):
        top = go_pprof.top(go_pprof.ask(path, "-top", order, "-sample_index=samples"))
        assert top == expected
    # Left to itself pprof shortens names of C++ that it takes to be its own to shorten: overloads would be one.
    plain = go_pprof.top(go_pprof.ask(path, "-top", "-symbolize=local", "-sample_index=samples"))
    assert plain == expected

    raw = go_pprof.ask(path, "-raw")
    assert "samples/count cpu/nanoseconds fleet_cpu/nanoseconds[dflt]" in raw
    rows = re.findall(r"^\s+(\d+)\s+(\d+)\s+(\d+): ([ \d]+)$", raw, re.MULTILINE)
    assert Counter(int(count) for count, *_ in rows) == Counter(stacks.values())
    assert all(int(units) == int(count) * case.period for count, units, *_ in rows)

    traces = go_pprof.ask(path, "-traces", "-sample_index=samples")
    assert sum(int(n) for n in re.findall(r"^\s+(\d+)   \S", traces, re.MULTILINE)) == sum(own.values())
    tree = go_pprof.ask(path, "-tree", "-sample_index=samples")
    shown = re.findall(r"^\s*(\d+)\s+[\d.]+%\s+[\d.]+%\s+(\d+)\s+[\d.]+%\s+\| (.*)$", tree, re.MULTILINE)
    assert {name.strip(): (int(flat), int(cum)) for flat, cum, name in shown} == expected
    if case.grouped:
        tags = go_pprof.ask(path, "-tags", "-sample_index=samples")
        assert "application: Total" in tags
        assert "version: Total" in tags
