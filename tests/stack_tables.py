"""Small stack profiles of any content, for the formats that write them."""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from services.api.formats.stack_profile import StackProfile, Value, Values
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.shapes.stack_table import Counts, Grouping, StackRows, StackTable, tabulated
from storage.query.stacks.definitions import Definition
from storage.query.stacks.function_names import FunctionRow
from storage.query.stacks.stack_tree import Stacks, built

ROOT = (FunctionRow(0, "all", "", "", Status.FULL, Kind.MARKER), Definition("", 0))
GROUPS = (("", "1"), ("web;front", "2"))


@dataclass(frozen=True)
class Fact:
    stack: tuple[int, ...]
    group: int
    samples: int
    factor: float


@dataclass(frozen=True)
class Made:
    """Facts over functions, whose ids count from 1."""

    functions: tuple[FunctionRow, ...]
    facts: tuple[Fact, ...]
    grouped: bool = False
    most: int = 1000
    period: int = 10
    binaries: dict[str, str] = field(default_factory=dict)

    @property
    def table(self) -> StackTable:
        stacks = sorted({fact.stack for fact in self.facts})
        lengths = np.array([len(stack) for stack in stacks], np.int64)
        frames = np.array([frame for stack in stacks for frame in stack], np.int32)
        shape = built(Stacks(np.arange(len(stacks)), frames, lengths)).shape(
            np.array([stacks.index(fact.stack) for fact in self.facts], np.int64)
        )
        groups = np.array([fact.group for fact in self.facts], np.int64)
        grouping = Grouping(("application", "version"), GROUPS, groups)
        samples = np.array([fact.samples for fact in self.facts], np.int64)
        units = samples * self.period
        weight = units * np.array([fact.factor for fact in self.facts], np.float64)
        rows = StackRows.of(
            shape, grouping if self.grouped else Grouping((), ((),), groups), samples, units, weight
        )
        table, _ = tabulated(
            shape,
            rows,
            rows.heaviest(self.most),
            grouping if self.grouped else Grouping((), ((),), groups),
            lambda ids: [
                ROOT if not id_ else (self.functions[id_ - 1], Definition(f"_Z{id_}", id_ % 3))
                for id_ in ids.tolist()
            ],
        )
        return table

    @property
    def profile(self) -> StackProfile:
        table = self.table
        left: Counts = table.remainder
        return StackProfile(
            table=table,
            values=(
                Values(Value.SAMPLES, "samples", "count", table.samples, left.samples),
                Values(Value.OBSERVED, "cpu", "nanoseconds", table.units, left.units),
                Values(
                    Value.ESTIMATE,
                    "fleet_cpu",
                    "nanoseconds",
                    np.rint(table.weight).astype(np.int64),
                    round(left.weight),
                ),
            ),
            event="cpu",
            unit="nanoseconds",
            period=self.period,
            start_ns=1_763_726_400_000_000_000,
            duration_ns=3_600_000_000_000,
            comments=("made", "by a test"),
            build_ids=self.binaries,
        )


def names() -> st.SearchStrategy[str]:
    odd = [
        "main",
        "a;b",
        "operator new(unsigned long)",
        "two\nlines",
        " ",
        "größer",
        "x 12",
        "lone \udce9",
        "",
    ]
    return st.one_of(st.sampled_from(odd), st.text(max_size=6))


@st.composite
def made(draw: st.DrawFn) -> Made:
    """Up to 6 functions, whose names may be alike, and some facts."""
    rows = draw(
        st.lists(
            st.builds(
                FunctionRow,
                id=st.just(0),
                name=names(),
                file=st.sampled_from(["", "a.c", "größe.c"]),
                binary=st.sampled_from(["", "prog", "libc.so.6"]),
                status=st.just(Status.FULL),
                kind=st.sampled_from([Kind.USER, Kind.KERNEL]),
            ),
            min_size=1,
            max_size=6,
        )
    )
    functions = tuple(
        FunctionRow(id_, row.name, row.file, row.binary, row.status, row.kind)
        for id_, row in enumerate(rows, 1)
    )
    stack = st.lists(st.integers(1, len(functions)), min_size=1, max_size=5).map(tuple)
    fact = st.builds(
        Fact, stack, st.integers(0, len(GROUPS) - 1), st.integers(1, 1 << 40), st.floats(1, 1000)
    )
    facts = tuple(draw(st.lists(fact, max_size=8)))
    return Made(
        functions,
        facts,
        grouped=draw(st.booleans()),
        most=draw(st.sampled_from([0, 1, 3, 1000])),
        binaries=draw(st.sampled_from([{}, {"prog": "ab12"}])),
    )
