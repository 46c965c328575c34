"""The samples of a selection by function or by application, from sums of merged cells, as exact as from their stacks.

Three questions need stacks, which are then read but only summed. First: do functions that were merged by naming occur
in one stack? Then everything is computed from stacks. Second: how many units have an unnamed function in their stack?
Third: how many units lack their outermost callers? Otherwise stacks are
never read. Sums by application are in the applications' cells.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from sqlalchemy import Connection

from storage.arrays import Bool, Int64
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.access_path import CellPlan
from storage.query.cells.blocks import FunctionSums
from storage.query.cells.cell_evidence import Merged
from storage.query.cells.cell_samples import by_application
from storage.query.cells.function_sums import sums_of, together
from storage.query.cells.rollup_scan import NotInRollup, RollupScan, scan_rollup
from storage.query.estimation.visit_evidence import Seen
from storage.query.facts.visit_scan import SampleType, campaign_of
from storage.query.samples import SampleSource
from storage.query.selections.selection import Selection
from storage.query.stacks import node_marks
from storage.query.stacks.function_names import Functions, Naming
from storage.query.stacks.stack_tree import Shape
from storage.query.zero_count_bounds import zero_count_bound

_Found = TypeVar("_Found")
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Quality:
    """Observed units of stacks that are not fully resolved."""

    unnamed: int
    """With an unnamed function, or whose leaf has no code."""
    no_code: int
    """Whose leaf is an unnamed function, or has no code."""
    incomplete: int
    """Without their outermost callers."""


@dataclass(frozen=True, slots=True)
class FunctionSamples:
    """A selection's sums by function."""

    kind: SampleType
    sums: FunctionSums
    shape: Shape
    """Of the stacks of the delta visits."""
    seen: Seen
    """The facts of the delta visits."""
    evidence: Merged
    units: int
    """Observed units."""
    quality: Quality

    @property
    def whole(self) -> float:
        """Estimated units of the fleet in the whole selection: the denominator of shares."""
        return self.evidence.whole


def read_functions(
    source: SampleSource,
    connection: Connection,
    selection: Selection,
    kind: SampleType,
    plan: CellPlan,
    *,
    make: Callable[[FunctionSamples], _Found],
) -> _Found | None:
    """Read a selection by cells for rows that are functions and pass it to `make`; None if cells cannot answer.

    Raises `NotInRollup` if their stacks can, `TooMuch`, `BudgetExceeded`.
    """
    scanned = scanned_sums(source, connection, selection, kind, plan)
    if scanned is None:
        return None
    totals = function_totals(source, connection, scanned, merging=True)
    delta = scanned.delta.facts
    seen = Seen(delta.visit[delta.profile], totals.shape.leaf, delta.values, delta.units, _NONE)
    evidence = zero_count_bound(
        scanned.evidence(totals.canonical),
        connection,
        selection,
        kind,
        cache=source.cache,
        planner=source.planner,
    )
    return make(
        FunctionSamples(kind, totals.sums, totals.shape, seen, evidence, scanned.units, totals.quality)
    )


def scanned_sums(
    source: SampleSource, connection: Connection, selection: Selection, kind: SampleType, plan: CellPlan
) -> RollupScan | None:
    """A selection's cells and delta visits; None if cells cannot answer. Raises as `read_functions`."""
    campaign_id = campaign_of(connection, selection)
    if campaign_id is None:
        return None
    return scan_rollup(connection, selection, kind, campaign_id, plan, source.cache)


@dataclass(frozen=True, slots=True)
class FunctionTotals:
    """Sums of cells by canonical function."""

    sums: FunctionSums
    shape: Shape
    """Of the stacks of the delta visits."""
    canonical: Int64
    """Canonical function by function id."""
    quality: Quality


def function_totals(
    source: SampleSource, connection: Connection, scanned: RollupScan, *, merging: bool
) -> FunctionTotals:
    """The sums by function of a scan without stacks, and their quality.

    Raises `NotInRollup`, among others if two functions with one canonical function may be in one stack; this does not
    matter if rows are not functions (`merging` is false).
    """
    sums = sums_of(scanned)
    if sums is None:
        raise NotInRollup
    functions, delta = source.functions, scanned.delta.facts
    functions.load(connection, sums.function)
    functions.look_again(connection, functions.canonical(sums.function))
    observed: tuple[Int64, Int64] | None = None
    while True:
        shape, naming = source.shape(connection, delta.stack)
        found = together(sums, naming.canonical, shape, scanned.delta)
        unsure = _Unsure.of(functions, naming, sums, found)
        quality = Quality(unsure.no_code, unsure.no_code, 0)
        if unsure.nameless or (merging and len(unsure.became_one)):
            observed = observed or scanned.observed()
            stacks, units = observed
            state = source.covering(connection, stacks)
            # Another query has found new names meanwhile, and stacks read since have them already, or the tree has
            # removed some.
            if not state.forgotten == len(naming.replaced) == len(functions.naming.replaced):
                continue
            state_marks = source.marks.of(state)
            if merging and state_marks.any_nested(unsure.became_one):
                raise NotInRollup
            marks = state_marks.of(state.leaves(stacks))
            without_names = (marks & (node_marks.UNNAMED | node_marks.NO_CODE)) > 0
            quality = Quality(
                int(units[without_names].sum()),
                unsure.no_code,
                int(units[(marks & node_marks.INCOMPLETE) > 0].sum()),
            )
        return FunctionTotals(found, shape, naming.canonical, quality)


@dataclass(frozen=True, slots=True)
class _Unsure:
    """Questions that sums by function leave open."""

    no_code: int
    """Observed units whose leaf is an unnamed function or a marker."""
    became_one: Int64
    """Canonical functions of several functions of the cells."""
    nameless: bool
    """Whether any function is unnamed or a marker."""

    @classmethod
    def of(cls, functions: Functions, naming: Naming, before: FunctionSums, sums: FunctionSums) -> "_Unsure":
        became_one = np.flatnonzero(np.bincount(naming.canonical[before.function]) > 1)
        marker = functions.kind(sums.function) == Kind.MARKER
        nameless: Bool = (functions.status(sums.function) < Status.SYMTAB) & ~marker
        no_code = nameless | marker
        return cls(int(sums.own[no_code].sum()), became_one, bool(no_code.any()))


@dataclass(frozen=True, slots=True)
class ApplicationSamples:
    """The sums of a selection by application."""

    kind: SampleType
    seen: Seen
    """The facts of the delta visits."""
    evidence: Merged
    """Its rows are the applications."""
    units: int
    """Observed units."""
    quality: Quality

    @property
    def whole(self) -> float:
        """Estimated units of the fleet in the whole selection: the denominator of shares."""
        return self.evidence.whole


def read_applications(
    source: SampleSource,
    connection: Connection,
    selection: Selection,
    kind: SampleType,
    plan: CellPlan,
    *,
    make: Callable[[ApplicationSamples], _Found],
) -> _Found | None:
    """Read a selection by cells for rows that are applications; otherwise as `read_functions`."""
    scanned = scanned_sums(source, connection, selection, kind, plan)
    if scanned is None:
        return None
    totals = function_totals(source, connection, scanned, merging=False)
    delta = scanned.delta.facts
    application = delta.application[delta.profile]
    seen = Seen(delta.visit[delta.profile], totals.shape.leaf, delta.values, delta.units, application)
    evidence = zero_count_bound(
        by_application(scanned, totals.canonical),
        connection,
        selection,
        kind,
        cache=source.cache,
        planner=source.planner,
    )
    return make(ApplicationSamples(kind, seen, evidence, scanned.units, totals.quality))
