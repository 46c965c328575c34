"""Two selections' stacks as one file: pprof with negated base values, or collapsed stacks with two columns.

The pprof file equals the result of `go tool pprof -diff_base` with two files: samples of the base have the label
`pprof::base=true`, and pprof computes percentages of the base by it. The columns are those of difffolded.pl, `stack
base selection`; flamegraph.pl colours frames by their difference.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, islice

import numpy as np

from services.api.formats import collapsed
from services.api.formats.stack_profile import (
    NO_FRAMES,
    StackProfile,
    Value,
    Values,
    display_name,
    estimates,
    is_kernel,
    paths,
    remarks,
    span,
)
from storage.query.selections.selection import Selection
from storage.query.shapes.diff_stacks import DiffStacksAnswer

_LINES_AT_ONCE = 10_000


def diff_profile(selection: Selection, found: DiffStacksAnswer, *, source: str) -> StackProfile:
    """The profile of a comparison; the base's values are negative.

    It has estimates only if both sides have a random design.
    """
    table, kind = found.table, found.kind
    values = [
        Values(Value.SAMPLES, "samples", "count", table.samples, 0),
        Values(Value.OBSERVED, kind.event, kind.unit, table.units, 0),
    ]
    if found.totals.design == found.base_totals.design == "random":
        values.append(estimates(kind, table))
    sign = np.where(table.group == 1, -1, 1)
    start, duration = span(selection, found.totals)
    name = values[-1].name
    return StackProfile(
        table=table,
        values=tuple(replace(column, of_row=column.of_row * sign) for column in values),
        event=kind.event,
        unit=kind.unit,
        period=0,
        start_ns=start,
        duration_ns=duration,
        comments=(
            source,
            *remarks(kind, found.totals, table, name),
            *(f"base: {remark}" for remark in remarks(kind, found.base_totals, table, name)),
        ),
        build_ids=found.build_ids,
    )


def lines(profile: StackProfile, value: Value) -> Iterator[bytes]:
    """Collapsed stacks of a comparison in UTF-8, in the order of the names: `stack base selection`."""
    table, values = profile.table, profile.of(value)
    names = [
        collapsed.frame(display_name(row)) + (collapsed.KERNEL if is_kernel(row) else "")
        for row in table.functions
    ]
    rows = zip(table.leaf.tolist(), paths(table, names, ";"), values.of_row.tolist(), strict=True)
    texts = (text for _, some in groupby(rows, key=lambda row: row[0]) if (text := _line(list(some))))
    while many := "".join(islice(texts, _LINES_AT_ONCE)):
        yield many.encode("utf-8", "replace")


def _line(rows: list[tuple[int, str, int]]) -> str:
    """The line of one stack from its one or two rows; empty if both sides are 0."""
    base = -sum(value for *_, value in rows if value < 0)
    now = sum(value for *_, value in rows if value > 0)
    return f"{rows[0][1] or NO_FRAMES} {base} {now}\n" if base or now else ""
