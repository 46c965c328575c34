"""A selection's samples with their source lines: stacks from chunks, and the lines that lie beside them."""

from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from storage.errors import BadSelection
from storage.query import budget
from storage.query.arrays import Int64, distinct
from storage.query.copy_binary import TooMuch
from storage.query.facts.line_scan import LineFacts, line_parts_to_read, scan_lines
from storage.query.facts.scan import WHOLE, campaign_of, parts_to_read, sample_type_of
from storage.query.samples import Samples, SampleSource, of_fewer
from storage.query.selections.selection import Selection
from storage.query.weighing.covered import draws
from storage.query.weighing.evidence import Visits


@dataclass(frozen=True, slots=True)
class LinedSamples:
    """Samples visit by visit, and the lines of the same profiles, their functions called alike."""

    samples: Samples
    lines: LineFacts
    visit: Int64
    """For each profile of the lines its visit in the samples' evidence."""

    @property
    def visits(self) -> Visits:
        """The evidence, which is of visits."""
        evidence = self.samples.evidence
        if not isinstance(evidence, Visits):
            raise TypeError("lines are known visit by visit")
        return evidence

    def of_functions(self, functions: Int64) -> "LinedSamples":
        """These with the lines of some functions only."""
        return replace(self, lines=self.lines.of(np.isin(self.lines.function, functions)))


def read_lined(
    source: SampleSource, connection: Connection, selection: Selection, labels: tuple[str, ...] = ()
) -> LinedSamples:
    """The samples of a selection and their lines; of more than is read for one answer, a random part of the visits.

    Raises `BadSelection` for one that narrows stacks: lines know none. `connection` must be a snapshot.
    """
    refuse_frames(selection)
    try:
        with budget.given_back():
            return _read_part(source, connection, selection, labels, WHOLE)
    except TooMuch:
        kind = sample_type_of(connection, selection)
        parts = min(
            parts_to_read(connection, selection, kind), line_parts_to_read(connection, selection, kind)
        )
        campaign_id = campaign_of(connection, selection)
        if parts == WHOLE or campaign_id is None or not draws(connection, campaign_id):
            raise
    return of_fewer(lambda fewer: _read_part(source, connection, selection, labels, fewer), parts)


def refuse_frames(selection: Selection) -> None:
    """Raises `BadSelection` for a selection that narrows stacks."""
    if selection.filters_stacks:
        raise BadSelection(
            "Lines cannot be narrowed by the frames of their stacks: they are kept beside stacks, not in them.",
            hint="Leave out what speaks of frames (focus, ignore, hide, show, show_from, matchers on function, file and "
            "binary), or go by function instead of line.",
        )


def _read_part(
    source: SampleSource, connection: Connection, selection: Selection, labels: tuple[str, ...], parts: int
) -> LinedSamples:
    kind = sample_type_of(connection, selection)
    functions = source.functions
    while True:
        before = len(functions.naming.replaced)
        samples = source.read_part(connection, selection, kind, labels, parts)
        lines = scan_lines(connection, selection, kind, labels, samples.profiles.stacks, parts)
        used, which = distinct(lines.function)
        functions.load(connection, used)
        lines = replace(lines, function=functions.canonical(used)[which])
        if len(functions.naming.replaced) == before:  # nothing was named in between: both say it alike
            break
    visit = np.searchsorted(samples.profiles.visits, lines.profiles.visits)[lines.profiles.visit]
    return LinedSamples(samples, lines, visit.astype(np.int64))
