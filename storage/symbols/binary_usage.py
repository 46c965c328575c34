"""CPU time per binary, and the part of it without function names.

The numbers are observations of the sampled visits, weighted to the fleet, with an interval (docs/numbers.md). Time is
that of the event cpu. A sample counts for each binary it has a frame in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import BigInteger, Connection, cast, func, select
from sqlalchemy.sql.elements import ColumnElement

from analysis import moments
from storage.arrays import Float, Int64, group_starts
from storage.query.estimation.estimates import Estimate, estimates
from storage.query.estimation.sampling_design import VisitWeights, read_design
from storage.query.facts.visit_scan import campaign_of, sample_type_of
from storage.query.selections.selection import Selection
from storage.schema import capture_binary, capture_segment, visit
from storage.snapshots.copy_binary import Rows, among, read_fixed

_MAX_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Holdings:
    """Columns over binaries, by ascending id: observed sums of a time range and their estimates."""

    binary_id: Int64
    samples: Int64
    """Samples of any event with a frame in the binary."""
    unresolved: Int64
    """The samples with a nameless frame in the binary."""
    captures: Int64
    machines: Int64
    """Distinct machines with such samples."""
    cpu_s: Float
    """Observed core-seconds."""
    unresolved_cpu_s: Float
    estimated: Sequence[Estimate | None]
    """Estimates of `unresolved_cpu_s`: share of the fleet's CPU time, and core-seconds in the weighted time."""
    estimated_s: float
    """Seconds that the estimates cover (`Coverage.estimated_s`); 0 without a random design."""

    def __len__(self) -> int:
        return len(self.binary_id)


def read_holdings(
    connection: Connection, start: datetime, end: datetime, *, only: Sequence[int] | None = None
) -> Holdings:
    """Usage of binaries in visits drawn in [start, end); `only` these ids.

    Call it in a snapshot. Raises `BadSelection` if the range is longer than one read allows.
    """
    selection = Selection(start, end)
    among_them = () if only is None else (among(capture_binary.c.binary_id, only),)
    sums = _sums(connection, selection, among_them)
    order = np.argsort(sums.ints("binary_id"))
    ids = sums.ints("binary_id")[order]
    nameless = _nameless(connection, selection, among_them)
    of = np.searchsorted(ids, nameless.ints("binary_id"))
    estimated, estimated_s = _estimated(connection, selection, nameless, of, len(ids))
    return Holdings(
        binary_id=ids,
        samples=sums.ints("samples")[order],
        unresolved=sums.ints("unresolved")[order],
        captures=sums.ints("captures")[order],
        machines=_different(of, nameless.ints("machine_id"), len(ids)),
        cpu_s=sums.ints("cpu_ns")[order] / 1e9,
        unresolved_cpu_s=sums.ints("unresolved_cpu_ns")[order] / 1e9,
        estimated=estimated,
        estimated_s=estimated_s,
    )


def _sums(connection: Connection, selection: Selection, only: Sequence[ColumnElement[bool]]) -> Rows:
    """One row for each binary."""
    held = capture_binary.c
    sums = [
        cast(func.sum(column), BigInteger).label(column.name)
        for column in (held.samples, held.unresolved, held.cpu_ns, held.unresolved_cpu_ns)
    ]
    statement = (
        select(
            held.binary_id,
            cast(func.count(), BigInteger).label("captures"),
            *sums,
        )
        .join(visit, visit.c.visit_id == held.visit_id)
        .where(*_in(selection), *only)
        .group_by(held.binary_id)
    )
    return read_fixed(connection, statement, limit=_MAX_BYTES)


def _nameless(connection: Connection, selection: Selection, only: Sequence[ColumnElement[bool]]) -> Rows:
    """One row for each capture and not fully named binary, since intervals need values per visit."""
    held = capture_binary.c
    statement = (
        select(held.binary_id, held.visit_id, visit.c.machine_id, held.unresolved_cpu_ns)
        .join(visit, visit.c.visit_id == held.visit_id)
        .where(*_in(selection), held.unresolved > 0, *only)
    )
    return read_fixed(connection, statement, limit=_MAX_BYTES)


def _in(selection: Selection) -> tuple[ColumnElement[bool], ...]:
    """Visits of the time range. A visit's day is fixed at its draw, so the days bound the partitions to read."""
    return (
        capture_binary.c.day >= selection.start.date(),
        capture_binary.c.day <= selection.end.date(),
        visit.c.drawn_at >= selection.start,
        visit.c.drawn_at < selection.end,
    )


def _estimated(
    connection: Connection, selection: Selection, rows: Rows, of: Int64, number: int
) -> tuple[Sequence[Estimate | None], float]:
    """Estimates of nameless core-seconds by binary, and the seconds they cover."""
    nothing: tuple[Sequence[Estimate | None], float] = ([None] * number, 0.0)
    kind = sample_type_of(connection, selection)
    campaign_id = campaign_of(connection, selection)
    design, weights = read_design(connection, selection, campaign_id, kind.id, stacks=True, gauge=False)
    if design.weights is None or weights is None:
        return nothing
    seen = _cpu_ns(connection, selection, campaign_id, kind.id, weights)
    counted = weights.group >= 0
    place = np.cumsum(counted) - 1
    visits = rows.uuids("visit_id")
    at = np.minimum(np.searchsorted(weights.id, visits), max(len(weights.id) - 1, 0))
    y = rows.ints("unresolved_cpu_ns").astype(np.float64)
    pairs = y > 0
    if len(weights.id):
        pairs &= (weights.id[at] == visits) & counted[at]
    else:
        pairs[:] = False
    found = moments.from_visits(
        weights.weight[counted],
        weights.group[counted],
        design.weights,
        x=seen[counted],
        row=of[pairs],
        visit=place[at[pairs]],
        y=y[pairs],
        rows=number,
    )
    return estimates(found.scaled(1e-9), number), design.coverage.estimated_s


def _cpu_ns(
    connection: Connection,
    selection: Selection,
    campaign_id: int | None,
    sample_type_id: int | None,
    weights: VisitWeights,
) -> Float:
    """CPU time that each visit observed, named or not: the denominator of shares."""
    segment = capture_segment.c
    rows = read_fixed(
        connection,
        select(segment.visit_id, cast(func.sum(segment.samples * segment.period), BigInteger).label("ns"))
        .join(visit, visit.c.visit_id == segment.visit_id)
        .where(
            visit.c.campaign_id == campaign_id,
            visit.c.drawn_at >= selection.start,
            visit.c.drawn_at < selection.end,
            segment.sample_type_id == (-1 if sample_type_id is None else sample_type_id),
            segment.stacks,
        )
        .group_by(segment.visit_id),
        limit=_MAX_BYTES,
    )
    seen = np.zeros(len(weights.id))
    if len(weights.id):
        ids = rows.uuids("visit_id")
        at = np.minimum(np.searchsorted(weights.id, ids), len(weights.id) - 1)
        known = weights.id[at] == ids
        seen[at[known]] = rows.ints("ns")[known]
    return seen


def _different(of: Int64, machine: Int64, number: int) -> Int64:
    """Number of distinct machines per binary."""
    pairs = np.sort((of << 32) | machine)
    return np.bincount(pairs[group_starts(pairs)] >> 32, minlength=number)
