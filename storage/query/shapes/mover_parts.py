"""The units of each visit in one row, split by labels: the input for attributing a change (docs/models.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.movers.function_parts import Parts
from storage.arrays import Bool, Int64, weight_at
from storage.query.estimation.visit_evidence import Visits
from storage.query.estimation.visit_tables import counted
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.shapes.diff import Compared, Side, visit_numbers
from storage.query.shapes.table import all_rows
from storage.query.shapes.table_rows import Rows

_SEED = 1
"""Seed of the choice of visits: equal queries have equal results."""


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Labels that have several values in two selections."""

    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    """Values of each label, by number."""
    of_profile: tuple[Int64, Int64]
    """Numbers of each profile's values on both sides, shape (profiles, labels)."""

    @classmethod
    def of(cls, reading: Reading, sides: tuple[Side, Side], labels: Sequence[str]) -> "Dimensions":
        """Takes labels that both sides were read with; labels with a single value are dropped, they explain nothing."""
        names, values = [], []
        columns: tuple[list[Int64], list[Int64]] = ([], [])
        for label in labels:
            texts = [reading.label_values(label, side.samples.profiles.label(label)) for side in sides]
            known = sorted({*texts[0], *texts[1]})
            if len(known) < 2:
                continue
            number = {text: place for place, text in enumerate(known)}
            names.append(label)
            values.append(tuple(known))
            for column, of_side in zip(columns, texts, strict=True):
                column.append(np.fromiter((number[text] for text in of_side), np.int64, len(of_side)))
        first, second = (
            np.column_stack(column) if column else np.zeros((len(side.samples.profiles), 0), np.int64)
            for column, side in zip(columns, sides, strict=True)
        )
        return cls(tuple(names), tuple(values), (first, second))


@dataclass(frozen=True, slots=True)
class RowsByProfile:
    """The rows of both sides, with the units of each profile in them (not of each visit)."""

    sides: tuple[Side, Side]
    rows: tuple[Rows, Rows]
    keys: tuple[Int64, Int64]
    """A number for each visit; a visit on both sides has one number."""
    chosen: Bool
    """By number: the visits used."""
    part: float
    """Their share of the visits with a sample, 0…1."""
    dimensions: Dimensions

    @classmethod
    def of(
        cls, reading: Reading, found: Compared, by: Sequence[str], labels: Sequence[str], most: int
    ) -> "RowsByProfile":
        """Uses at most `most` visits of both sides together, chosen at random with a fixed seed."""
        first, second = visit_numbers(found.sides)
        keys = [key[counted(side.visits)] for side, key in zip(found.sides, (first, second), strict=True)]
        there = np.unique(np.concatenate(keys))
        chosen = np.zeros(int(there.max(initial=-1)) + 1, np.bool_)
        chosen[np.random.default_rng(_SEED).permutation(there)[:most]] = True
        part = float(chosen.sum()) / len(there) if len(there) else 1.0
        one, other = (all_rows(reading, _by_profile(side.samples, side.visits), by) for side in found.sides)
        dimensions = Dimensions.of(reading, found.sides, labels)
        return cls(found.sides, (one, other), (first, second), chosen, part, dimensions)

    def parts(self, side: int, place: int, *, own: bool) -> Parts:
        """The units of a side's chosen visits in the row at this place; −1: the side does not have the row."""
        evidence, profiles = self.sides[side].visits, self.sides[side].samples.profiles
        kept = counted(evidence)
        kept = kept[self.chosen[self.keys[side][kept]]]
        number = np.full(len(evidence), -1, np.int64)
        number[kept] = np.arange(len(kept))
        y = np.zeros(len(profiles), np.int64)
        if place >= 0:
            contributions = self.rows[side].contributions(np.array([place]))
            found = contributions.own if own else contributions.total
            y[found.visit] = found.units
        of_visit = number[evidence.of_profile]
        inside = np.flatnonzero(of_visit >= 0)
        values = self.dimensions.of_profile[side][inside]
        combined, which = np.unique(np.column_stack((of_visit[inside], values)), axis=0, return_inverse=True)
        which = which.ravel()
        size = len(combined)
        return Parts(
            key=self.keys[side][kept],
            stratum=evidence.stratum[kept],
            weight=evidence.weight[kept],
            visit=combined[:, 0],
            values=combined[:, 1:],
            y=weight_at(which, y[inside].astype(np.float64), size),
            x=weight_at(which, profiles.units[inside].astype(np.float64), size),
        )


def _by_profile(samples: Samples, evidence: Visits) -> Samples:
    """The samples with each profile as a visit of its own."""
    of = evidence.of_profile
    alone = replace(
        evidence,
        of_profile=np.arange(len(of)),
        id=evidence.id[of],
        stratum=evidence.stratum[of],
        machine=evidence.machine[of],
        weight=evidence.weight[of],
        group=evidence.group[of],
        selected=samples.profiles.units,
    )
    return replace(samples, evidence=alone)
