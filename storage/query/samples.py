"""The samples of a selection, attached to the prefix tree: the input of tables and flame graphs."""

import itertools
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
from sqlalchemy import Connection

from storage.arrays import Bool, Float, Int64, distinct, group_starts, sorting, sum_at
from storage.errors import CorruptChunk
from storage.query.access_path import CellPlan, Planner
from storage.query.cells.cell_evidence import Merged
from storage.query.cells.cell_samples import CellSamples, samples_of
from storage.query.cells.rollup_scan import scan_rollup
from storage.query.estimation import visit_totals
from storage.query.estimation.covered_time import draws
from storage.query.estimation.sampling_design import Design, VisitWeights, read_design
from storage.query.estimation.visit_evidence import Seen, SummedFacts, VisitFacts, Visits
from storage.query.estimation.visit_totals import PerVisit
from storage.query.facts.visit_scan import (
    MAX_BYTES,
    WHOLE,
    Facts,
    Profiles,
    SampleType,
    campaign_of,
    in_part,
    no_profiles,
    parts_to_read,
    sample_type_of,
    scan,
)
from storage.query.selections.selection import Selection
from storage.query.stack_filter import filter_stacks
from storage.query.stacks.function_names import Functions, Naming
from storage.query.stacks.name_table import names_of
from storage.query.stacks.node_marks import NodeMarks
from storage.query.stacks.stack_file import StackFile, stack_file_of
from storage.query.stacks.stack_tree import NO_STACKS, Shape, Stacks, StackTree, State
from storage.query.zero_count_bounds import zero_count_bound
from storage.schema import visit
from storage.snapshots import query_budget
from storage.snapshots.copy_binary import TooMuch
from storage.snapshots.decoded_cache import DecodedCache
from storage.snapshots.stack_reading import read_stacks

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Samples:
    """Facts of a selection, and their part of the tree. `shape.leaf` has one node per fact."""

    kind: SampleType
    profiles: Profiles
    facts: Facts
    weighted: Float
    """Estimated units of the fleet per fact."""
    shape: Shape
    evidence: Visits | Merged
    delta: Seen | None = None
    """Facts that are not in merged cells; None if all facts come from visits one by one."""
    summed: SummedFacts | None = None
    """The amounts of visits, if `facts` are sums over all visits by group of profiles and stack."""
    sampled: Shape | None = None
    """The stacks with all their frames, if `shape` shows only some; one node per fact as there."""

    @property
    def whole(self) -> float:
        """Estimated units of the fleet that the selection's labels choose: the denominator of shares."""
        return self.evidence.whole

    @property
    def by_visit(self) -> Int64:
        """Units of each visit of the evidence, which is not of merged cells."""
        evidence = self.evidence
        assert isinstance(evidence, Visits), "cells have no visits"
        if self.summed is not None:
            return evidence.selected
        return sum_at(evidence.of_profile[self.facts.profile], self.facts.units, len(evidence))

    @property
    def profiles_seen(self) -> int:
        """Profiles with a sample; not for merged cells."""
        return len(group_starts(self.facts.profile)) if self.summed is None else self.summed.profiles

    @property
    def visit_facts(self) -> VisitFacts:
        """The amounts of visits by rows of frames."""
        return self.seen if self.summed is None else self.summed

    @property
    def seen(self) -> Seen:
        """The single facts by visit. Raises `TypeError` if only their sums are known."""
        if self.summed is not None:
            raise TypeError("summed facts cannot be read one by one")
        if self.delta is not None:
            return self.delta
        facts = self.facts
        visit = self.evidence.of_profile[facts.profile]
        return Seen(visit, self.shape.leaf, facts.samples, facts.units, _NONE)

    def of_groups(self, row: Int64, *, rows: int) -> PerVisit:
        """The amount of each visit in rows 0…rows−1 of profiles; `row` is the row of each profile, -1 for none."""
        visits = len(self.evidence)
        if self.summed is not None:
            return self.summed.of_groups(row, rows=rows, visits=visits)
        seen = self.seen
        return visit_totals.of_pairs(
            row[self.facts.profile], seen.visit, seen.units, rows=rows, visits=visits
        )

    def in_groups(self, group: Int64, count: int) -> list["Samples"]:
        """Split the samples by a number 0…count−1 for each profile; `profiles` is unchanged."""
        if count == 1:
            return [self]
        of = group[self.facts.profile]
        order = sorting(of)
        bounds = np.searchsorted(of[order], np.arange(count + 1))
        parts = []
        for a, b in itertools.pairwise(bounds.tolist()):
            query_budget.checkpoint()  # 0.3 ms per group of a large tree, and up to 20,000 groups
            part = self.of(np.sort(order[a:b]))
            parts.append(replace(part, shape=part.shape.above_its_leaves()))
        return parts

    def of(self, keep: Int64 | Bool) -> "Samples":
        """The same with some of the facts."""
        facts = Facts(
            *(
                column[keep]
                for column in (self.facts.profile, self.facts.stack, self.facts.samples, self.facts.units)
            )
        )
        shape = replace(self.shape, leaf=self.shape.leaf[keep])
        sampled = None if self.sampled is None else replace(self.sampled, leaf=self.sampled.leaf[keep])
        return replace(self, facts=facts, weighted=self.weighted[keep], shape=shape, sampled=sampled)


_NONE = np.zeros(0, np.int64)
_NODE_BYTES = 80
"""Memory per node of the tree while totals of a selection are computed: its columns, and four sums."""


def of_fewer(read: Callable[[int], _Read], parts: int) -> _Read:
    """Read `parts` of the `WHOLE` parts of the visits, or fewer while these are too much.

    Raises `TooMuch` if a single one is too much. Visits are assigned to parts at random, so the size of a part is
    random.
    """
    while True:
        try:
            with query_budget.given_back():
                return read(parts)
        except TooMuch:
            if parts == 1:
                raise
            parts = max(1, parts * 3 // 4)


class ArchivedNames(Protocol):
    """Stacks and functions with the same ids that are kept longer than in the database."""

    def stacks(self, ids: Int64) -> Stacks:
        """The requested stacks that exist."""
        ...

    def functions(self, ids: Int64) -> Sequence[Any]:
        """As `storage.query.stacks.function_names.Archived`."""
        ...


class SampleSource:
    """Reads samples, and caches stacks and functions between queries."""

    def __init__(
        self,
        file: StackFile | None = None,
        cache: DecodedCache | None = None,
        planner: Planner | None = None,
    ) -> None:
        """`file` has initial stacks and functions, `cache` cells and chunks; `planner` chooses access paths."""
        self.planner = planner or Planner()
        self.archived: ArchivedNames | None = None
        self.file = file = file or stack_file_of(NO_STACKS, names_of({}))
        self.functions = Functions(file.names)
        self.cache = cache or DecodedCache()
        self.stacks = StackTree(file.state)
        self.marks = NodeMarks(self.functions, file.marks)

    def beside(self, archived: "ArchivedNames", cells_horizon: int) -> "SampleSource":
        """A copy for one query that reads swept stacks and functions from `archived`.

        It shares stacks, functions and caches. `cells_horizon` is as in `Planner`.
        """
        made = copy(self)
        made.archived = archived
        made.planner = replace(self.planner, cells_horizon=cells_horizon)
        return made

    def read(self, connection: Connection, selection: Selection, labels: tuple[str, ...] = ()) -> Samples:
        """The samples of a selection, after its frame filters.

        If there are more than one query may read, a random part of the visits represents all; `TooMuch` if visits are
        not a random sample. `connection` must be a snapshot.
        """
        kind = sample_type_of(connection, selection)
        try:
            with query_budget.given_back():
                return self.read_part(connection, selection, kind, labels, WHOLE)
        except TooMuch:
            parts = parts_to_read(connection, selection, kind)
            campaign_id = campaign_of(connection, selection)
            if parts == WHOLE or campaign_id is None or not draws(connection, campaign_id):
                raise
        return of_fewer(lambda fewer: self.read_part(connection, selection, kind, labels, fewer), parts)

    def read_part(
        self,
        connection: Connection,
        selection: Selection,
        kind: SampleType,
        labels: tuple[str, ...],
        parts: int,
    ) -> Samples:
        """As `read`, from `parts` of the `WHOLE` parts of the visits. Raises `TooMuch`."""
        profiles, facts = scan(connection, selection, kind, labels, parts=parts, cache=self.cache)
        design, weights = read_design(
            connection,
            selection,
            campaign_of(connection, selection),
            kind.id,
            stacks=profiles.stacks,
            gauge=kind.gauge,
            only=None if parts == WHOLE else in_part(visit.c.visit_id, parts),
        )
        shape, _ = self.shape(connection, facts.stack)
        visits = visits_of(design, weights, profiles, facts)
        if parts == WHOLE:
            visits = zero_count_bound(
                visits, connection, selection, kind, cache=self.cache, planner=self.planner
            )
        weighted = facts.units * visits.weight[profiles.visit[facts.profile]]
        samples = Samples(kind, profiles, facts, weighted, shape, visits)
        return filtered(self.functions, samples, selection)

    def read_merged(
        self, connection: Connection, selection: Selection, kind: SampleType, plan: CellPlan
    ) -> Samples | None:
        """The samples of a selection by cells; None if cells cannot answer."""
        campaign_id = campaign_of(connection, selection)
        if campaign_id is None:
            return None
        gathered = scan_rollup(connection, selection, kind, campaign_id, plan, self.cache)
        if gathered is None:
            return None
        samples = self.merged(connection, kind, plan, samples_of(gathered))
        evidence = zero_count_bound(
            samples.evidence, connection, selection, kind, cache=self.cache, planner=self.planner
        )
        return replace(samples, evidence=evidence)

    def merged(self, connection: Connection, kind: SampleType, plan: CellPlan, cells: CellSamples) -> Samples:
        """The samples of these sums by stack."""
        shape, naming = self.shape(connection, cells.stack)
        delta = cells.of.delta.facts
        seen = Seen(
            visit=delta.visit[delta.profile],
            leaf=shape.leaf[cells.delta],
            samples=delta.values,
            units=delta.units,
            application=delta.application[delta.profile] if plan.by_application else _NONE,
        )
        one = np.zeros(len(cells.stack), np.int64)
        return Samples(
            kind,
            no_profiles(stacks=cells.of.source.stacks),
            Facts(one, cells.stack, one, cells.units),
            cells.weighted,
            shape,
            cells.evidence(naming.canonical),
            seen,
        )

    def shape(self, connection: Connection, stacks: Int64) -> tuple[Shape, Naming]:
        """The stacks' part of the tree, and the names of its functions."""
        used_stacks, which = distinct(stacks)
        while True:
            query_budget.checkpoint()
            state = self._covering(connection, used_stacks)
            shape = state.shape(used_stacks)
            query_budget.take(_NODE_BYTES * len(shape))
            used, _ = distinct(shape.function)
            self._load(connection, used)
            self.functions.look_again(connection, used)
            naming = self.functions.naming
            # Not only names found by this call: another query, or one that failed, may have found some before.
            if state.forgotten == len(naming.replaced):
                return replace(shape, leaf=shape.leaf[which]), naming
            self.stacks.forget_functions(naming.replaced)

    def covering(self, connection: Connection, stacks: Int64) -> State:
        """A state of the tree that has these stacks."""
        return self._covering(connection, distinct(stacks)[0])

    def _covering(self, connection: Connection, stacks: Int64) -> State:
        return self.stacks.covering(stacks, lambda ids: self._stacks_of(connection, ids))

    def _stacks_of(self, connection: Connection, ids: Int64) -> Stacks:
        """Stacks with every function replaced by its canonical function."""
        stacks = Stacks(*read_stacks(connection, ids, limit=32 * MAX_BYTES))
        if len(stacks.ids) < len(ids) and self.archived is not None:
            stacks = stacks.joined(self.archived.stacks(np.setdiff1d(ids, stacks.ids)))
        if len(stacks.ids) < len(ids):
            raise CorruptChunk(
                f"{len(ids) - len(stacks.ids)} stacks of the samples are not in the dictionary"
            )
        self._load(connection, np.unique(stacks.frames).astype(np.int64))
        return replace(stacks, frames=self.functions.canonical(stacks.frames).astype(np.int32))

    def _load(self, connection: Connection, functions: Int64) -> None:
        self.functions.load(connection, functions, None if self.archived is None else self.archived.functions)


def filtered(functions: Functions, samples: Samples, selection: Selection) -> Samples:
    """Filter a selection's samples, read by its labels, by its frames."""
    if not selection.filters_stacks:
        return samples
    left = filter_stacks(functions, samples.shape, selection)
    if left.shape is not samples.shape:
        samples = replace(samples, shape=left.shape, sampled=samples.shape)
    return samples.of(left.keep)


def visits_of(design: Design, weights: VisitWeights | None, profiles: Profiles, facts: Facts) -> Visits:
    """The visits of profiles and their facts, with the weights of the design."""
    visits = len(profiles.visits)
    machine = np.zeros(visits, np.int64)
    machine[profiles.visit] = profiles.machine
    selected = sum_at(profiles.visit[facts.profile], facts.units, visits)
    nowhere = np.full(visits, -1, np.int64)
    known = (np.ones(visits), nowhere, nowhere) if weights is None else weights.of(profiles.visits)
    weight, group, stratum = known
    return Visits(design, profiles.visit, profiles.visits, stratum, machine, weight, group, selected)
