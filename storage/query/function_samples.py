"""The samples of a selection by function or by application, out of what merged cells keep of each, as exact as out of their stacks.

Three things cells' sums by function do not tell, and for these the stacks are read after all, but only added up: whether
functions that have become one stand in one stack, in which case everything is made of the stacks; how much has a
function without a name in its stack; and how much lacks its outermost callers. A fleet without either never reads them. What each application has stands in its cells.
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
    """Observed units of stacks that do not say everything."""

    unnamed: int
    """With a function that has no name, or that ends in no code."""
    no_code: int
    """That end in a function without a name, or in no code."""
    incomplete: int
    """Without their outermost callers."""


@dataclass(frozen=True, slots=True)
class FunctionSamples:
    """A selection's sums by function."""

    kind: SampleType
    sums: FunctionSums
    shape: Shape
    """Of the stacks of those visits that are in no cell."""
    seen: Seen
    """What these brought."""
    evidence: Merged
    units: int
    """Observed."""
    quality: Quality

    @property
    def whole(self) -> float:
        """Units of the fleet in all of it: what shares are of."""
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
    """What is made of a selection by cells for rows that are functions. None: cells cannot tell.

    Raises `NotInRollup` where their stacks can, `TooMuch`, `BudgetExceeded`.
    """
    scanned = scanned_sums(source, connection, selection, kind, plan)
    if scanned is None:
        return None
    told = tell(source, connection, scanned, merging=True)
    delta = scanned.delta.facts
    seen = Seen(delta.visit[delta.profile], told.shape.leaf, delta.values, delta.units, _NONE)
    evidence = zero_count_bound(
        scanned.evidence(told.canonical),
        connection,
        selection,
        kind,
        cache=source.cache,
        planner=source.planner,
    )
    return make(FunctionSamples(kind, told.sums, told.shape, seen, evidence, scanned.units, told.quality))


def scanned_sums(
    source: SampleSource, connection: Connection, selection: Selection, kind: SampleType, plan: CellPlan
) -> RollupScan | None:
    """A selection's cells and the visits beside them; None: cells cannot tell. Raises as `read_functions`."""
    campaign_id = campaign_of(connection, selection)
    if campaign_id is None:
        return None
    return scan_rollup(connection, selection, kind, campaign_id, plan, source.cache)


@dataclass(frozen=True, slots=True)
class Told:
    """What cells say by function, by what functions are called now."""

    sums: FunctionSums
    shape: Shape
    """Of the stacks of those visits that are in no cell."""
    canonical: Int64
    """By function id what readers take instead."""
    quality: Quality


def tell(source: SampleSource, connection: Connection, scanned: RollupScan, *, merging: bool) -> Told:
    """The sums by function of what was gathered without stacks, and how good it is.

    Raises `NotInRollup`, among others if two of the functions that have become one may stand in one stack; not if rows are not
    functions, so that they are not `merging`.
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
            # Another query has found new names meanwhile, and what was read since has them already, or the tree has forgotten some.
            if not state.forgotten == len(naming.replaced) == len(functions.naming.replaced):
                continue
            told = source.marks.of(state)
            if merging and told.any_nested(unsure.became_one):
                raise NotInRollup
            marks = told.of(state.leaves(stacks))
            without_names = (marks & (node_marks.UNNAMED | node_marks.NO_CODE)) > 0
            quality = Quality(
                int(units[without_names].sum()),
                unsure.no_code,
                int(units[(marks & node_marks.INCOMPLETE) > 0].sum()),
            )
        return Told(found, shape, naming.canonical, quality)


@dataclass(frozen=True, slots=True)
class _Unsure:
    """What sums by function leave open."""

    no_code: int
    """Observed units that end in a function without a name, or in a marker."""
    became_one: Int64
    """What several functions of the cells are called now."""
    nameless: bool
    """There are some of these."""

    @classmethod
    def of(cls, functions: Functions, naming: Naming, before: FunctionSums, sums: FunctionSums) -> "_Unsure":
        became_one = np.flatnonzero(np.bincount(naming.canonical[before.function]) > 1)
        marker = functions.kind(sums.function) == Kind.MARKER
        nameless: Bool = (functions.status(sums.function) < Status.SYMTAB) & ~marker
        no_code = nameless | marker
        return cls(int(sums.own[no_code].sum()), became_one, bool(no_code.any()))


@dataclass(frozen=True, slots=True)
class ApplicationSamples:
    """What the applications of a selection have."""

    kind: SampleType
    seen: Seen
    """What visits brought that are in no cell."""
    evidence: Merged
    """Its rows are the applications."""
    units: int
    """Observed."""
    quality: Quality

    @property
    def whole(self) -> float:
        """Units of the fleet in all of it: what shares are of."""
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
    """What is made of a selection by cells for rows that are applications; else as `read_functions`."""
    scanned = scanned_sums(source, connection, selection, kind, plan)
    if scanned is None:
        return None
    told = tell(source, connection, scanned, merging=False)
    delta = scanned.delta.facts
    application = delta.application[delta.profile]
    seen = Seen(delta.visit[delta.profile], told.shape.leaf, delta.values, delta.units, application)
    evidence = zero_count_bound(
        by_application(scanned, told.canonical),
        connection,
        selection,
        kind,
        cache=source.cache,
        planner=source.planner,
    )
    return make(ApplicationSamples(kind, seen, evidence, scanned.units, told.quality))
