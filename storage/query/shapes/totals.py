"""The totals of an answer: its samples, the part of the fleet they represent, and their quality."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from storage.arrays import Int64
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import Status
from storage.query.answers.figures import Interval, as_seconds, in_units
from storage.query.answers.totals import Path, Span, Totals
from storage.query.cells.cell_evidence import Merged
from storage.query.estimation.estimates import total_of
from storage.query.estimation.sampling_design import Coverage
from storage.query.estimation.visit_totals import PerVisit
from storage.query.facts.visit_scan import SampleType
from storage.query.function_samples import ApplicationSamples, FunctionSamples, Quality
from storage.query.samples import Samples
from storage.query.selections.times import format_time
from storage.query.stacks.function_names import Functions
from storage.query.stacks.stack_tree import Shape
from storage.snapshots import query_budget


def totals(functions: Functions, samples: Samples) -> Totals:
    """The totals of these samples, whose functions must be loaded."""
    return sums(functions, samples).answer()


def totals_of_cells(samples: FunctionSamples | ApplicationSamples) -> Totals:
    """The totals of samples whose stacks were not read: of all samples that match the selection's labels."""
    return _of_cells(samples.evidence, samples.kind, samples.units, 1.0, samples.quality).answer()


@dataclass(frozen=True, slots=True)
class Sums:
    """The sums that totals are made of."""

    kind: SampleType
    coverage: Coverage
    samples: int
    units: int
    machines: int | None
    visits: int
    profiles: int
    kept: float
    symbolized: float
    leaf_symbolized: float
    complete: float
    estimate: Interval | None
    path: Path

    def answer(self) -> Totals:
        """The totals; their samples count towards the query's budget."""
        query_budget.note_samples(self.samples)
        coverage, scale = self.coverage, self.kind.seconds_per_unit
        return Totals(
            samples=self.samples,
            units=self.units,
            seconds=as_seconds(self.units, scale),
            machines=self.machines,
            visits=self.visits,
            profiles=self.profiles,
            kept=self.kept,
            symbolized=self.symbolized,
            leaf_symbolized=self.leaf_symbolized,
            complete=self.complete,
            design="random" if coverage.random else "none",
            path=self.path,
            approximate=coverage.approximate,
            selected_seconds=coverage.selected_s,
            covered_seconds=coverage.covered_s,
            missing=tuple(Span(format_time(begin), format_time(end)) for begin, end in coverage.missing),
            estimated_seconds=coverage.estimated_s,
            population=coverage.population,
            uncovered_share=coverage.uncovered,
            visits_drawn=coverage.drawn,
            visits_ingested=coverage.ingested,
            visits_waiting=coverage.waiting,
            core_seconds=in_units(self.estimate, scale),
            cores=in_units(self.estimate, scale and coverage.estimated_s and scale / coverage.estimated_s),
            estimate=self.estimate,
        )


def sums(functions: Functions, samples: Samples) -> Sums:
    """The sums of these samples, whose functions must be loaded."""
    # Of the stacks before frames are hidden: a hidden frame is not an unnamed one.
    shape = samples.shape if samples.sampled is None else samples.sampled
    quality = _quality(functions, shape, shape.self_at(samples.facts.units))
    kept = _share(float(samples.weighted.sum()), samples.whole)
    evidence, facts = samples.evidence, samples.facts
    units = int(facts.units.sum())
    if isinstance(evidence, Merged):
        return _of_cells(evidence, samples.kind, units, kept, quality)
    by_visit = samples.by_visit
    seen = np.flatnonzero(by_visit)
    moments = evidence.moments(PerVisit(np.zeros(len(seen), np.int64), seen, by_visit[seen], 1))
    return Sums(
        kind=samples.kind,
        coverage=evidence.design.coverage,
        samples=int(facts.samples.sum()),
        units=units,
        machines=len(np.unique(evidence.machine[seen])),
        visits=len(seen),
        profiles=samples.profiles_seen,
        kept=kept,
        **_shares(quality, units),
        estimate=None if moments is None else total_of(moments),
        path="chunks",
    )


def _of_cells(evidence: Merged, kind: SampleType, units: int, kept: float, quality: Quality) -> Sums:
    return Sums(
        kind=kind,
        coverage=evidence.design.coverage,
        samples=evidence.samples,
        units=units,
        machines=evidence.machines,
        visits=evidence.visits_seen,
        profiles=evidence.profiles,
        kept=kept,
        **_shares(quality, units),
        estimate=evidence.total,
        path="mixed" if evidence.fresh else "cells",
    )


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


def _shares(quality: Quality, units: int) -> dict[str, Any]:
    return {
        "symbolized": _share(units - quality.unnamed, units),
        "leaf_symbolized": _share(units - quality.no_code, units),
        "complete": _share(units - quality.incomplete, units),
    }


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole else 1.0
