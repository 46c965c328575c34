"""A selection's stacks for profile formats: rows with integer values of several kinds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import numpy as np

from storage.arrays import Int64
from storage.ingest.marker_frames import Kind
from storage.query.answers.totals import Totals
from storage.query.facts.visit_scan import SampleType
from storage.query.selections.selection import Selection
from storage.query.shapes.stack_samples import StackSamples
from storage.query.shapes.stack_table import StackTable
from storage.query.stacks.function_names import FunctionRow

LEFT_OUT = "[stacks left out]"
"""The only frame of the stacks beyond the limit, so that a file's total is the selection's."""
NO_FRAMES = "[no frames]"
NO_VALUE = "[none]"
"""Stands for the value of a label that a profile does not have."""
_LARGEST_SUM = 1 << 62
_TIMES = (("nanoseconds", 1.0), ("microseconds", 1e-3), ("milliseconds", 1e-6), ("seconds", 1e-9))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Value(StrEnum):
    """The unit of stacks, in formats with one number per stack."""

    ESTIMATE = "estimate"
    OBSERVED = "observed"
    SAMPLES = "samples"


@dataclass(frozen=True, slots=True)
class Values:
    """One number for each row."""

    value: Value
    name: str
    unit: str
    of_row: Int64
    left_out: int
    """The value of the stacks beyond the limit."""

    @property
    def total(self) -> int:
        """The sum of all rows and of the stacks left out."""
        return int(self.of_row.sum()) + self.left_out


@dataclass(frozen=True, slots=True)
class StackProfile:
    """The content of a profile file."""

    table: StackTable
    values: tuple[Values, ...]
    event: str
    unit: str
    period: int
    """Units between two samples; 0: not constant."""
    start_ns: int
    """Since 1970."""
    duration_ns: int
    """Of the covered time; without a random design, of the selection."""
    comments: tuple[str, ...]
    build_ids: dict[str, str]

    def of(self, value: Value) -> Values:
        """The values of one kind, or the observed ones if there is no estimate."""
        known = {values.value: values for values in self.values}
        return known.get(value, known[Value.OBSERVED])

    @property
    def group_frames(self) -> list[tuple[str, ...]]:
        """The labels' values, by group, as frames above the stacks."""
        return [tuple(value or NO_VALUE for value in values) for values in self.table.groups]


def profile_of(selection: Selection, found: StackSamples, *, source: str) -> StackProfile:
    """The profile of an answer; `source` describes its origin in one line.

    Values are samples, observed units, and with a random design the fleet's units. Estimates are rounded, and use a
    larger unit of time if the sum in nanoseconds exceeds 64 bits.
    """
    table, left = found.table, found.table.remainder
    values = [
        Values(Value.SAMPLES, "samples", "count", table.samples, left.samples),
        Values(Value.OBSERVED, found.kind.event, found.kind.unit, table.units, left.units),
    ]
    if found.totals.design == "random":
        values.append(estimates(found.kind, table))
    start, duration = span(selection, found.totals)
    return StackProfile(
        table=table,
        values=tuple(values),
        event=found.kind.event,
        unit=found.kind.unit,
        period=_period(table),
        start_ns=start,
        duration_ns=duration,
        comments=(source, *remarks(found.kind, found.totals, table, values[-1].name)),
        build_ids=found.build_ids,
    )


def display_name(row: FunctionRow) -> str:
    """A function's name; never empty."""
    return row.name or NO_FRAMES


def is_kernel(row: FunctionRow) -> bool:
    """Whether the function runs in the kernel."""
    return row.kind == Kind.KERNEL


def paths(table: StackTable, texts: Sequence[str], joint: str) -> Iterator[str]:
    """Each row's stack as one text, outermost first; `texts` are those of its functions."""
    places = iter(table.leaf.tolist())
    wanted = next(places, -1)
    prefix = [""] * (int(table.depth.max(initial=0)) + 1)
    for node, (function, depth) in enumerate(zip(table.function.tolist(), table.depth.tolist(), strict=True)):
        if depth == 1:
            prefix[1] = texts[function]
        elif depth:
            prefix[depth] = f"{prefix[depth - 1]}{joint}{texts[function]}"
        while wanted == node:
            yield prefix[depth]
            wanted = next(places, -1)


def estimates(kind: SampleType, table: StackTable) -> Values:
    """The fleet's units, rounded, in a unit of time in which their sum fits."""
    whole = float(table.weight.sum()) + table.remainder.weight
    unit, factor = kind.unit, 1.0
    if unit == "nanoseconds":
        unit, factor = next((t for t in _TIMES if whole * t[1] < _LARGEST_SUM), _TIMES[-1])
    return Values(
        Value.ESTIMATE,
        f"fleet_{kind.event}",
        unit,
        np.rint(table.weight * factor).astype(np.int64),
        round(table.remainder.weight * factor),
    )


def remarks(kind: SampleType, totals: Totals, table: StackTable, name: str) -> Iterator[str]:
    """Notes for a reader, one per line; `name` is that of the estimates, if there are any."""
    estimate, left = totals.estimate, table.remainder
    yield f"{totals.samples:,} samples of {totals.visits_ingested:,} visits"
    if estimate is not None:
        yield (
            f"{name}: {estimate.value:.6g} {kind.unit} of the whole fleet, 95 % interval "
            f"{estimate.lo:.6g} to {estimate.hi:.6g}"
        )
    if totals.approximate:
        yield "observed values cover a random part of the visits, which represents all of them"
    if left.stacks:
        yield f"{left.stacks:,} light stacks are left out; the frame {LEFT_OUT} represents them"


def span(selection: Selection, totals: Totals) -> tuple[int, int]:
    """(start since 1970, length) in nanoseconds. The length is the estimated time, to which estimates refer."""
    start = _nanoseconds(selection.start)
    estimated_s = totals.estimated_seconds if totals.design == "random" else 0.0
    return start, round(estimated_s * 1e9) or _nanoseconds(selection.end) - start


def _period(table: StackTable) -> int:
    if not len(table):
        return 0
    period = int(table.units[0]) // max(int(table.samples[0]), 1)
    return period if bool((table.units == table.samples * period).all()) else 0


def _nanoseconds(moment: datetime) -> int:
    since = moment - _EPOCH
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) * 1_000
