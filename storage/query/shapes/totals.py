"""What stands behind an answer: how much was sampled, how much of the fleet that speaks for, how good it is."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from storage.landing.markers import Kind
from storage.landing.resolved import Status
from storage.query.arrays import Bool, sum_at
from storage.query.cells.evidence import Merged
from storage.query.samples import Samples
from storage.query.stacks import prefix_tree
from storage.query.stacks.functions import Functions
from storage.query.weighing.by_visit import ByVisit
from storage.query.weighing.design import Coverage
from storage.query.weighing.estimates import Interval, estimates

Path = Literal["cells", "chunks", "mixed"]
"""What an answer was read from: merged cells, every visit's own chunks, or both."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What stands behind an answer, after all filters."""

    samples: int
    units: int
    """Samples weighted with the units each stands for."""
    machines: int | None
    """Distinct machines with a sample; None where merged cells do not know, like `visits`."""
    visits: int | None
    profiles: int
    kept: float
    """Estimated share of what the labels choose that is left; 1 if nothing was asked of frames."""
    symbolized: float
    """Share of units whose stack has a name for every function; 1 when there are none, like the two below."""
    leaf_symbolized: float
    """Share of units whose innermost function has a name."""
    complete: float
    """Share of units whose stack reaches the thread's start."""
    coverage: Coverage
    estimate: Interval | None
    """Units of the fleet in the covered time, of a gauge its mean level; None without a random design."""
    path: Path


def totals(functions: Functions, samples: Samples) -> Totals:
    """What stands behind these samples, whose functions are loaded."""
    units = int(samples.facts.units.sum())
    behind = _behind(samples)
    shape = samples.shape if samples.sampled is None else samples.sampled  # a hidden frame is no unnamed one
    status, kind = functions.status(shape.function), functions.kind(shape.function)
    marker = kind == Kind.MARKER
    nameless = (status < Status.SYMTAB) & ~marker
    unnamed = prefix_tree.below_any(nameless, shape.end)
    leafless = nameless | marker  # no code of its own: what ran there is not known
    incomplete = prefix_tree.below_any(marker & (shape.depth == 1), shape.end)

    def share_without(nodes: Bool) -> float:
        return _share(units - int(samples.facts.units[nodes[shape.leaf]].sum()), units)

    return Totals(
        samples=behind.samples,
        units=units,
        machines=behind.machines,
        visits=behind.visits,
        profiles=behind.profiles,
        kept=_share(float(samples.weighted.sum()), samples.whole),
        symbolized=share_without(unnamed | leafless),
        leaf_symbolized=share_without(leafless),
        complete=share_without(incomplete),
        coverage=samples.evidence.design.coverage,
        estimate=behind.estimate,
        path=behind.path,
    )


@dataclass(frozen=True, slots=True)
class _Behind:
    samples: int
    machines: int | None
    visits: int
    profiles: int
    estimate: Interval | None
    path: Path


def _behind(samples: Samples) -> _Behind:
    evidence = samples.evidence
    if isinstance(evidence, Merged):
        path: Path = "mixed" if evidence.fresh else "cells"
        return _Behind(
            evidence.samples, evidence.machines, evidence.visits_seen, evidence.profiles, evidence.total, path
        )
    facts = samples.facts
    by_visit = sum_at(evidence.of_profile[facts.profile], facts.units, len(evidence))
    seen = np.flatnonzero(by_visit)
    moments = evidence.moments(ByVisit(np.zeros(len(seen), np.int64), seen, by_visit[seen], 1))
    (estimate,) = estimates(moments, 1)
    return _Behind(
        int(facts.samples.sum()),
        len(np.unique(evidence.machine[seen])),
        len(seen),
        len(np.unique(facts.profile)),
        None if estimate is None else estimate.units,
        "chunks",
    )


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole else 1.0
