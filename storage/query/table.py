"""Group-by any k of the dimensions of a selection's samples: the query view (DIGEST G14, G15).

A key is made of labels, and of at most one kind of frame key: function, file or binary. A sample
counts once in a row's total however often the row's function (file, binary) stands in its stack,
so totals of rows are not additive, while self is: the rows and the remainder add up to the whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from sqlalchemy import Connection

from storage.errors import BadSelection
from storage.query import label_names, prefix_tree
from storage.query.arrays import Int64, sum_at
from storage.query.functions import Functions
from storage.query.label_names import FRAME_KEYS
from storage.query.samples import Samples

MOST_KEYS = 6
MOST_ROWS = 10_000
_MOST_GROUPS = 20_000
"""Combinations of labels of one table that also goes by frames."""


class Sort(StrEnum):
    """Order of the rows; ties go by name."""

    SELF = "self"
    SELF_DESC = "-self"
    TOTAL = "total"
    TOTAL_DESC = "-total"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `self` and `total` in units of the sample type."""

    key: dict[str, str]
    function_id: int | None
    self: int
    total: int
    self_samples: int
    total_samples: int
    machines: int
    """Distinct machines with a sample in the row's total."""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows asked for, and what is not among them."""

    by: tuple[str, ...]
    rows: tuple[Row, ...]
    rows_total: int
    """Rows that match `find`."""
    remainder_rows: int
    """Rows of the whole selection that are not shown."""
    remainder_self: int


@dataclass(frozen=True, slots=True)
class Page:
    """Which rows to show."""

    sort: Sort = Sort.SELF_DESC
    limit: int = 100
    offset: int = 0
    find: str = ""
    """Only rows with this in one of their names, whatever the case."""


@dataclass(slots=True)
class _Group:
    """The rows of one combination of labels."""

    samples: Samples
    labels: dict[str, str]
    node_row: Int64
    """Row of each node of the shape, −1 for the root."""
    names: list[dict[str, str]]
    ids: list[int | None]
    own: Int64
    total: Int64
    outer: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    """Nodes whose totals add up to their row's."""


def split_keys(by: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """The labels among the keys, and the finest frame key. Raises `BadSelection`.

    A function has a file and a binary, so naming these beside it changes nothing.
    """
    if not by or len(by) > MOST_KEYS or len(set(by)) < len(by):
        raise BadSelection(
            f"`by` needs one to {MOST_KEYS} different keys.",
            hint="For example by=function or by=application,version.",
        )
    frames = [key for key in by if key in FRAME_KEYS]
    if set(frames) == {"file", "binary"}:
        raise BadSelection(
            "A table goes by file or by binary, not by both.", hint="Use by=function: it shows both."
        )
    return tuple(key for key in by if key not in FRAME_KEYS), min(frames, key=FRAME_KEYS.index, default=None)


def tabulate(
    connection: Connection, functions: Functions, samples: Samples, by: Sequence[str], page: Page
) -> Table:
    """The table of these samples, which were read with the labels among `by`."""
    labels, frame = split_keys(by)
    groups = [
        _grouped(functions, part, values, frame)
        for values, part in _by_labels(connection, samples, labels, frame)
    ]
    group_of = np.repeat(np.arange(len(groups)), [len(g.names) for g in groups])
    row_of = np.concatenate([np.arange(len(g.names)) for g in groups] or [np.zeros(0, np.int64)])
    own = np.concatenate([g.own for g in groups] or [np.zeros(0, np.int64)])
    total = np.concatenate([g.total for g in groups] or [np.zeros(0, np.int64)])
    keys = [{**g.labels, **name} for g in groups for name in g.names]
    order = _ordered(keys, own, total, page)
    shown = order[page.offset : page.offset + page.limit]
    rows: dict[int, Row] = {}
    for number in np.unique(group_of[shown]).tolist():
        places = shown[group_of[shown] == number]
        details = _details(groups[number], row_of[places])
        for place, (own_samples, total_samples, machines) in zip(places.tolist(), details, strict=True):
            rows[place] = Row(
                key=keys[place],
                function_id=groups[number].ids[row_of[place]],
                self=int(own[place]),
                total=int(total[place]),
                self_samples=own_samples,
                total_samples=total_samples,
                machines=machines,
            )
    return Table(
        by=tuple(by),
        rows=tuple(rows[place] for place in shown.tolist()),
        rows_total=len(order),
        remainder_rows=len(keys) - len(shown),
        remainder_self=int(own.sum()) - int(own[shown].sum()),
    )


def _by_labels(
    connection: Connection, samples: Samples, labels: tuple[str, ...], frame: str | None
) -> list[tuple[dict[str, str], Samples]]:
    """The samples apart by the values of labels; equal values are one group whatever their stored ids."""
    if not labels:
        return [({}, samples)] if len(samples.facts.profile) else []
    columns = [
        label_names.values_of(connection, label, samples.profiles.labels[label_names.column_of(label)])
        if label != label_names.MACHINE
        else label_names.values_of(connection, label, samples.profiles.machine)
        for label in labels
    ]
    numbers: dict[tuple[str, ...], int] = {}
    group = np.fromiter(
        (numbers.setdefault(values, len(numbers)) for values in zip(*columns, strict=True)),
        np.int64,
        len(samples.profiles),
    )
    if frame is not None and len(numbers) > _MOST_GROUPS:
        raise BadSelection(
            f"The table would have {len(numbers):,} groups of functions.",
            hint="Group by fewer labels, or add a matcher.",
        )
    parts = samples.in_groups(group, len(numbers))
    return [
        (dict(zip(labels, values, strict=True)), part)
        for values, part in zip(numbers, parts, strict=True)
        if len(part.facts.profile)
    ]


def _grouped(functions: Functions, samples: Samples, labels: dict[str, str], frame: str | None) -> _Group:
    if frame is None:
        units = samples.facts.units.sum(keepdims=True)
        return _Group(samples, labels, np.zeros(len(samples.shape), np.int64), [{}], [None], units, units)
    shape = samples.shape
    own = shape.self_at(samples.facts.units)
    totals = shape.totals(own)
    used = np.flatnonzero(totals[1:]) + 1
    if frame == "function":
        key, outermost = shape.function, shape.outermost
    else:
        key = functions.file(shape.function) if frame == "file" else functions.binary(shape.function)
        outermost = prefix_tree.outermost(key, shape.end)
    distinct, row = np.unique(key[used], return_inverse=True)
    node_row = np.full(len(shape), -1, np.int64)
    node_row[used] = row
    outer = used[outermost[used]]
    ids: list[int | None] = distinct.tolist() if frame == "function" else [None] * len(distinct)
    names = (
        [_function_key(functions, id_) for id_ in distinct.tolist()]
        if frame == "function"
        else [{frame: functions.text(number)} for number in distinct.tolist()]
    )
    return _Group(
        samples=samples,
        labels=labels,
        node_row=node_row,
        names=names,
        ids=ids,
        own=sum_at(row, own[used], len(distinct)),
        total=sum_at(node_row[outer], totals[outer], len(distinct)),
        outer=outer,
    )


def _function_key(functions: Functions, id_: int) -> dict[str, str]:
    row = functions.row(id_)
    return {
        "function": row.name,
        "file": row.file,
        "binary": row.binary,
        "status": row.status.name.lower(),
        "kind": row.kind.name.lower(),
    }


def _ordered(keys: list[dict[str, str]], own: Int64, total: Int64, page: Page) -> Int64:
    """Places of the rows that match `find`, in the page's order."""
    sought = page.find.casefold()
    hidden = {"status", "kind"}
    if sought:
        matching = [
            place
            for place, key in enumerate(keys)
            if any(sought in text.casefold() for name, text in key.items() if name not in hidden)
        ]
    else:
        matching = list(range(len(keys)))
    by_name = sorted(matching, key=lambda place: tuple(keys[place].values()))
    places = np.array(by_name, np.int64)
    if page.sort is Sort.NAME:
        return places
    measure = own if page.sort in {Sort.SELF, Sort.SELF_DESC} else total
    sign = -1 if page.sort in {Sort.SELF_DESC, Sort.TOTAL_DESC} else 1
    return places[np.argsort(sign * measure[places], kind="stable")]


def _details(group: _Group, rows: Int64) -> list[tuple[int, int, int]]:
    """(self samples, total samples, machines) of some rows: what only shown rows need.

    The facts are sorted by their node, so a row's total is a few slices: the subtrees of its
    outermost nodes.
    """
    samples = group.samples
    machine = np.unique(samples.profiles.machine, return_inverse=True)[1][samples.facts.profile]
    if not len(group.outer):  # by labels only: one row, all facts
        count = int(samples.facts.samples.sum())
        return [(count, count, len(np.unique(machine)))]
    order = np.argsort(samples.shape.leaf, kind="stable")
    leaf, machine = samples.shape.leaf[order], machine[order]
    running = np.concatenate(([0], np.cumsum(samples.facts.samples[order])))
    starts = np.searchsorted(leaf, group.outer)
    ends = np.searchsorted(leaf, samples.shape.end[group.outer])
    outer_row = group.node_row[group.outer]
    by_row = np.argsort(outer_row, kind="stable")
    bounds = np.searchsorted(outer_row[by_row], [rows, rows + 1])
    own_samples = sum_at(np.maximum(group.node_row[leaf], 0), samples.facts.samples[order], len(group.names))
    several = bool(machine.max(initial=0))
    found = []
    for row, low, high in zip(rows.tolist(), *bounds.tolist(), strict=True):
        subtrees = by_row[low:high]
        total = int((running[ends[subtrees]] - running[starts[subtrees]]).sum())
        machines = 1
        if several:
            seen = np.zeros(int(machine.max()) + 1, np.bool_)
            for a, b in zip(starts[subtrees].tolist(), ends[subtrees].tolist(), strict=True):
                seen[machine[a:b]] = True
            machines = int(seen.sum())
        found.append((int(own_samples[row]), total, machines))
    return found
