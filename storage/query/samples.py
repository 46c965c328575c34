"""The samples of a selection, hung onto the prefix tree: what tables and flame graphs are made of."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection, select

from storage.landing.errors import CorruptChunk
from storage.query import patterns, prefix_tree
from storage.query.arrays import Bool, Float, Int64, distinct, sum_at
from storage.query.design import Design, read_design
from storage.query.evidence import Visits
from storage.query.functions import Functions
from storage.query.reading import among, read_arrays
from storage.query.scan import MAX_BYTES, Facts, Profiles, SampleType, campaign_of, sample_type_of, scan
from storage.query.selection import Selection
from storage.query.stack_tree import Shape, Stacks, StackTree
from storage.schema import stack


@dataclass(frozen=True, slots=True)
class Samples:
    """Facts of a selection, and the part of the tree they use. `shape.leaf` has one node per fact."""

    kind: SampleType
    profiles: Profiles
    facts: Facts
    weighted: Float
    """Units of the fleet that each fact stands for."""
    shape: Shape
    evidence: Visits

    @property
    def whole(self) -> float:
        """Units of the fleet in the whole selection, before `focus` and `ignore`: what shares are of."""
        return self.evidence.whole

    def in_groups(self, group: Int64, count: int) -> list["Samples"]:
        """The samples split by a number 0…count−1 for each profile; the profiles stay as they are."""
        if count == 1:
            return [self]
        of = group[self.facts.profile]
        order = np.argsort(of, kind="stable")
        bounds = np.searchsorted(of[order], np.arange(count + 1))
        parts = [self.of(np.sort(order[a:b])) for a, b in itertools.pairwise(bounds.tolist())]
        return [replace(part, shape=part.shape.above_its_leaves()) for part in parts]

    def of(self, keep: Int64 | Bool) -> "Samples":
        """These with some of the facts."""
        facts = Facts(
            *(
                column[keep]
                for column in (self.facts.profile, self.facts.stack, self.facts.samples, self.facts.units)
            )
        )
        shape = replace(self.shape, leaf=self.shape.leaf[keep])
        return replace(self, facts=facts, weighted=self.weighted[keep], shape=shape)


class SampleSource:
    """Reads samples and keeps, between queries, the stacks and functions it met."""

    def __init__(self) -> None:
        self.functions = Functions()
        self.stacks = StackTree()
        self._namings = 0

    def read(self, connection: Connection, selection: Selection, labels: tuple[str, ...] = ()) -> Samples:
        """The samples of a selection, its `focus` and `ignore` applied.

        `connection` must be a snapshot. Raises what `scan` raises.
        """
        kind = sample_type_of(connection, selection)
        profiles, facts = scan(connection, selection, kind, labels)
        design = read_design(
            connection,
            selection,
            campaign_of(connection, selection),
            kind.id,
            stacks=profiles.stacks,
            gauge=kind.gauge,
        )
        shape = self._shape(connection, facts.stack)
        visits = _visits(design, profiles, facts)
        weighted = facts.units * visits.weight[profiles.visit[facts.profile]]
        samples = Samples(kind, profiles, facts, weighted, shape, visits)
        return self._filtered(samples, selection) if selection.focus or selection.ignore else samples

    def load_all(self, connection: Connection) -> bool:
        """Build the tree of all stacks there are; meant for a thread of its own.

        False: functions were named meanwhile, and nothing was changed.
        """
        namings = self._namings
        stacks = self._stacks_of(connection, None)
        return self.stacks.replace(stacks, lambda: self._namings == namings)

    def _shape(self, connection: Connection, stacks: Int64) -> Shape:
        used_stacks, which = distinct(stacks)
        while True:
            state = self.stacks.covering(used_stacks, lambda ids: self._stacks_of(connection, ids))
            shape = state.shape(used_stacks)
            used, _ = distinct(shape.function)
            self.functions.load(connection, used)
            renamed = self.functions.named_since(connection, used)
            if not len(renamed):
                return replace(shape, leaf=shape.leaf[which])
            self._namings += 1
            self.stacks.forget_functions(renamed)

    def _stacks_of(self, connection: Connection, ids: Int64 | None) -> Stacks:
        """Stacks with every function replaced by what it is called now; all stacks for None."""
        statement = select(stack.c.stack_id, stack.c.frames)
        if ids is not None:
            statement = statement.where(among(stack.c.stack_id, ids.tolist()))
        found, frames, lengths = read_arrays(connection, statement, limit=32 * MAX_BYTES)
        if ids is not None and len(found) < len(ids):
            raise CorruptChunk(f"{len(ids) - len(found)} stacks of the samples are not in the dictionary")
        self.functions.load(connection, np.unique(frames).astype(np.int64))
        return Stacks(found, self.functions.canonical(frames).astype(np.int32), lengths)

    def _filtered(self, samples: Samples, selection: Selection) -> Samples:
        shape = samples.shape
        used, which = distinct(shape.function)
        keep = np.ones(len(shape), np.bool_)
        if selection.focus:
            chosen = self.functions.matching(used, patterns.search(selection.focus))[which]
            keep &= prefix_tree.below_any(chosen, shape.end)
        if selection.ignore:
            chosen = self.functions.matching(used, patterns.search(selection.ignore))[which]
            keep &= ~prefix_tree.below_any(chosen, shape.end)
        return samples.of(keep[shape.leaf])


def _visits(design: Design, profiles: Profiles, facts: Facts) -> Visits:
    machine = np.zeros(len(profiles.visits), np.int64)
    machine[profiles.visit] = profiles.machine
    selected = sum_at(profiles.visit[facts.profile], facts.units, len(profiles.visits))
    return Visits(design, profiles.visit, machine, *design.of(profiles.visits), selected)
