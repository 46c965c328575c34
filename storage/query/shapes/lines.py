"""Source lines of some functions or of a file, as in an annotated source (DIGEST G18).

A file is identified by its content. Samples of builds with the same text are added up; different versions are listed
side by side. If no text is stored for a build, its version is unknown: all such builds form one more version.
"""

from dataclasses import dataclass

import numpy as np

from storage.query import binary_builds
from storage.query.facts.visit_scan import SampleType
from storage.query.line_samples import LinedSamples
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.occurrences import Occurrences
from storage.query.shapes.row_order import Page, Sort, ordered
from storage.query.shapes.source_versions import SourceVersion, VersionRows, versions_of
from storage.query.shapes.table import Row, only_row, shown_rows
from storage.query.shapes.totals import Totals, totals
from storage.query.stacks.function_names import FunctionRow
from storage.query.subject import Subject

MOST_ROWS = 20_000
MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line with samples."""

    version: int
    """Index of its version."""
    line: int
    row: Row
    """A recursive line counts a stack once; a line that belongs to several functions counts it once for each."""


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Lines, and the samples without a known line."""

    functions: tuple[FunctionRow, ...]
    """The functions found; at most `MOST_NAMED`, the heaviest ones."""
    functions_total: int
    itself: Row
    """All of them as one row: a stack counts once."""
    versions: tuple[SourceVersion, ...]
    """By file; within a file the heaviest first."""
    lines: tuple[SourceLine, ...]
    """By version, then line; the heaviest ones if not all are shown."""
    lines_total: int
    remainder_self: int
    """Self of the lines that are not shown."""
    without_line: int
    """Self of the functions without a known line: `itself.self` is the sum of this, the lines and the remainder."""


@dataclass(frozen=True, slots=True)
class LinesAnswer:
    """Lines, and the totals of the selection."""

    kind: SampleType
    totals: Totals
    lines: SourceLines


@dataclass(frozen=True, slots=True)
class LinesQuestion:
    """The source lines of some functions in the selection."""

    selection: Selection
    subject: Subject
    limit: int = 2000

    def answer(self, reading: Reading) -> LinesAnswer:
        """The lines; none if no stack has the functions. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        lined = reading.lined(self.selection, binary_builds.LABELS)
        found = source_lines(reading, self.selection, lined, self.subject, self.limit)
        return LinesAnswer(lined.samples.kind, totals(reading.functions, lined.samples), found)


def source_lines(
    reading: Reading, selection: Selection, lined: LinedSamples, subject: Subject, limit: int
) -> SourceLines:
    """The subject's lines in samples that were read with `binary_builds.LABELS`."""
    functions = reading.functions
    found = Occurrences.of(functions, lined.samples, subject)
    lined = lined.of_functions(found.functions)
    named = [functions.row(id_) for id_ in np.unique(lined.lines.function).tolist()]
    known = reading.builds(selection, lined.lines.profiles, (row.binary for row in named))
    contents = reading.contents(known.keys, (row.file for row in named))
    versions = versions_of(functions, lined, known, contents)
    rows = VersionRows(lined, versions)
    shown = np.sort(ordered(rows, Page(Sort.TOTAL_DESC, limit))[:limit])
    itself, units = only_row(lined.samples, found.together()), int(rows.own.sum())
    return SourceLines(
        functions=tuple(functions.row(id_) for id_ in found.functions[:MOST_NAMED].tolist()),
        functions_total=len(found.functions),
        itself=itself,
        versions=versions.versions,
        lines=tuple(
            SourceLine(*rows.place(place), row)
            for place, row in zip(shown.tolist(), shown_rows(lined.samples, rows, shown), strict=True)
        ),
        lines_total=len(rows.own),
        remainder_self=units - int(rows.own[shown].sum()),
        without_line=itself.self - units,
    )
