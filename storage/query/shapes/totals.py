"""The totals of an answer: its samples, the part of the fleet they represent, and their quality."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from storage.arrays import Int64
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.cells.cell_evidence import Merged
from storage.query.estimation.estimates import Interval, total_of
from storage.query.estimation.sampling_design import Coverage
from storage.query.estimation.visit_totals import PerVisit
from storage.query.function_samples import ApplicationSamples, FunctionSamples, Quality
from storage.query.samples import Samples
from storage.query.stacks.function_names import Functions
from storage.query.stacks.stack_tree import Shape
from storage.snapshots import query_budget

Path = Literal["cells", "chunks", "mixed"]
"""The source of an answer: merged cells, every visit's own chunks, or both."""


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of an answer, after all filters."""

    samples: int
    units: int
    """Samples weighted with the units each stands for."""
    machines: int | None
    """Distinct machines with a sample; None, like `visits`, if merged cells do not record it."""
    visits: int | None
    profiles: int
    kept: float
    """Estimated share of the samples matched by labels that the frame filters keep; 1 without frame filters."""
    symbolized: float
    """Share of units whose stack has a name for every function; 1 without units, like the two below."""
    leaf_symbolized: float
    """Share of units whose innermost function has a name."""
    complete: float
    """Share of units whose stack reaches the thread's start."""
    coverage: Coverage
    estimate: Interval | None
    """Units of the fleet in the covered time, for a gauge its mean level. None: there is no random design, or no
    observation gives an upper bound."""
    path: Path


def totals(functions: Functions, samples: Samples) -> Totals:
    """The totals of these samples, whose functions must be loaded."""
    shape = (
        samples.shape if samples.sampled is None else samples.sampled
    )  # a hidden frame is not an unnamed one
    quality = _quality(functions, shape, shape.self_at(samples.facts.units))
    kept = _share(float(samples.weighted.sum()), samples.whole)
    coverage = samples.evidence.design.coverage
    return _totals(_behind(samples), int(samples.facts.units.sum()), kept, quality, coverage)


def _quality(functions: Functions, shape: Shape, own: Int64) -> Quality:
    """The units with missing names or frames; usually few nodes have any."""
    kind = functions.kind(shape.function)
    nodes = np.flatnonzero((functions.status(shape.function) < Status.SYMTAB) | (kind == Kind.MARKER))
    marker = kind[nodes] == Kind.MARKER
    running = np.zeros(len(own) + 1, np.int64)
    np.cumsum(own, out=running[1:])

    def below(chosen: Int64) -> int:
        """The units at or below these nodes, none of which is below another."""
        return int((running[shape.end[chosen]] - running[chosen]).sum())

    nameless = nodes[~marker]
    ends = shape.end[nameless]
    outer = np.ones(len(nameless), np.bool_)
    outer[1:] = nameless[1:] >= np.maximum.accumulate(ends)[:-1]
    nameless, ends = nameless[outer], ends[outer]
    markers = nodes[marker]
    before = np.searchsorted(nameless, markers) - 1
    apart = markers[(before < 0) | (ends[before] <= markers)] if len(nameless) else markers
    no_code = int(own[nodes].sum())  # the code that ran there is unknown
    return Quality(
        below(nameless) + int(own[apart].sum()), no_code, below(markers[shape.depth[markers] == 1])
    )


def totals_of_cells(samples: FunctionSamples | ApplicationSamples) -> Totals:
    """The totals of samples whose stacks were not read: of all samples that match the selection's labels."""
    evidence = samples.evidence
    return _totals(_behind_cells(evidence), samples.units, 1.0, samples.quality, evidence.design.coverage)


def _totals(behind: "_Behind", units: int, kept: float, quality: Quality, coverage: Coverage) -> Totals:
    query_budget.note_samples(behind.samples)
    return Totals(
        samples=behind.samples,
        units=units,
        machines=behind.machines,
        visits=behind.visits,
        profiles=behind.profiles,
        kept=kept,
        symbolized=_share(units - quality.unnamed, units),
        leaf_symbolized=_share(units - quality.no_code, units),
        complete=_share(units - quality.incomplete, units),
        coverage=coverage,
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
        return _behind_cells(evidence)
    facts = samples.facts
    by_visit = samples.by_visit
    seen = np.flatnonzero(by_visit)
    moments = evidence.moments(PerVisit(np.zeros(len(seen), np.int64), seen, by_visit[seen], 1))
    return _Behind(
        int(facts.samples.sum()),
        len(np.unique(evidence.machine[seen])),
        len(seen),
        samples.profiles_seen,
        None if moments is None else total_of(moments),
        "chunks",
    )


def _behind_cells(evidence: Merged) -> _Behind:
    path: Path = "mixed" if evidence.fresh else "cells"
    return _Behind(
        evidence.samples, evidence.machines, evidence.visits_seen, evidence.profiles, evidence.total, path
    )


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole else 1.0
