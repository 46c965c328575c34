"""All distinct stacks of a selection as columns with their samples and units, for files and for rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from storage.arrays import Int64, distinct
from storage.errors import BadSelection
from storage.query.answers.totals import Totals
from storage.query.estimation import visit_totals
from storage.query.estimation.estimates import Estimate, estimates
from storage.query.estimation.visit_evidence import Visits
from storage.query.facts.visit_scan import SampleType
from storage.query.line_samples import refuse_frames
from storage.query.reading import Reading
from storage.query.samples import Samples
from storage.query.selections.matchers import FRAME_KEYS
from storage.query.selections.selection import Selection
from storage.query.shapes.stack_table import Grouping, StackRows, StackTable, tabulated
from storage.query.shapes.totals import totals
from storage.query.stack_filter import through_any
from storage.query.stacks.definitions import UNKNOWN, Definition
from storage.query.stacks.function_names import FunctionRow, Functions
from storage.query.subject import Subject

MOST_STACKS = 2_000_000
"""Stacks of one answer; the lighter ones are its remainder."""
MOST_ESTIMATED = 10_000
"""Stacks of an answer that has an interval for each."""
MOST_LABELS = 6


@dataclass(frozen=True, slots=True)
class StackSamples:
    """The stacks of a selection as columns, and the totals of its samples."""

    kind: SampleType
    totals: Totals
    table: StackTable
    whole: float
    """Units of the fleet in the whole selection, the denominator of shares."""
    estimates: tuple[Estimate | None, ...] | None
    """By row; None unless they were requested."""
    build_ids: dict[str, str]
    """Hex, by name of a binary, if only one binary has that name."""


@dataclass(frozen=True, slots=True)
class StackSamplesQuestion:
    """The distinct stacks of a selection, at most the `most` heaviest.

    They are read from every visit's own samples, never from merged cells, which do not count samples by stack.
    """

    selection: Selection
    labels: tuple[str, ...] = ()
    """Rows are also divided by the values of these labels."""
    most: int = MOST_STACKS
    estimated: bool = False
    """Each row has an interval; then there are at most `MOST_ESTIMATED` rows."""
    through: Subject | None = None
    """Only stacks with one of these functions, after the selection's filters."""
    lined: bool = False
    """The stacks are for a result with source lines, which cannot be filtered by frames."""

    def __post_init__(self) -> None:
        if len(self.labels) > MOST_LABELS or len(set(self.labels)) < len(self.labels):
            raise BadSelection(f"Stacks are grouped by at most {MOST_LABELS} different labels.")
        for label in self.labels:
            if label in FRAME_KEYS:
                raise BadSelection(
                    f"Stacks cannot be grouped by {label}, because they consist of functions.",
                    hint="Use labels, e.g. labels=application,version.",
                )

    def answer(self, reading: Reading) -> StackSamples:
        """The stacks. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        if self.lined:
            refuse_frames(self.selection)
        samples = reading.visits(self.selection, self.labels)
        if self.through is not None:
            samples = _through(reading.functions, samples, self.through)
        facts = samples.facts
        grouping = _grouping(reading, samples, self.labels)
        rows = StackRows.of(samples.shape, grouping, facts.samples, facts.units, samples.weighted)
        kept = rows.heaviest(min(self.most, MOST_ESTIMATED if self.estimated else MOST_STACKS))

        def functions(ids: Int64) -> Sequence[tuple[FunctionRow, Definition]]:
            known = reading.definitions(ids[ids > 0])
            rows = reading.functions.rows(ids)
            return [(row, known.get(row.id, UNKNOWN)) for row in rows]

        table, order = tabulated(samples.shape, rows, kept, grouping, functions)
        return StackSamples(
            kind=samples.kind,
            totals=totals(reading.functions, samples),
            table=table,
            whole=samples.whole,
            estimates=_estimates(samples, rows, kept[order]) if self.estimated else None,
            build_ids=dict(reading.build_ids(sorted({row.binary for row in table.functions if row.binary}))),
        )


def _through(named: Functions, samples: Samples, subject: Subject) -> Samples:
    """The samples whose stacks have one of the subject's functions."""
    used, which = distinct(samples.shape.function)
    return samples.of(through_any(subject.among(named, used)[which], samples.shape))


def _grouping(reading: Reading, samples: Samples, labels: tuple[str, ...]) -> Grouping:
    """Equal values are one group whatever their stored ids."""
    profiles = samples.profiles
    if not labels:
        return Grouping(labels, ((),), np.zeros(0, np.int64))
    columns = [reading.label_values(label, profiles.label(label)) for label in labels]
    values = list(zip(*columns, strict=True))
    number = {combination: place for place, combination in enumerate(sorted(set(values)))}
    of_profile = np.fromiter((number[combination] for combination in values), np.int64, len(values))
    return Grouping(labels, tuple(number) or (("",) * len(labels),), of_profile[samples.facts.profile])


def _estimates(samples: Samples, rows: StackRows, shown: Int64) -> tuple[Estimate | None, ...]:
    """Estimates of the rows shown, from the units of each visit in them."""
    evidence = samples.evidence
    assert isinstance(evidence, Visits)  # `Reading.visits` guarantees it
    row = np.full(len(rows.leaf), -1, np.int64)
    row[shown] = np.arange(len(shown))
    contributions = visit_totals.of_pairs(
        row[rows.of_fact],
        evidence.of_profile[samples.facts.profile],
        samples.facts.units,
        rows=len(shown),
        visits=len(evidence),
    )
    return tuple(estimates(evidence.moments(contributions), len(shown)))
