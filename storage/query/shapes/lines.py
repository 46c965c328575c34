"""Source lines of some functions or of a file, as an annotated source shows them (DIGEST G18).

A file is known by its content: samples of builds that had the same text are added up, and versions that differ stand side by side.
Where no text is stored for a build nobody knows which version it had: all such builds are one more version.
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
    """A recursive line counts a stack once, one that several functions have once for each."""


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Lines, and what is known without one."""

    functions: tuple[FunctionRow, ...]
    """Those that were found, at most `MOST_NAMED`, the heaviest ones."""
    functions_total: int
    itself: Row
    """All of them as one: a stack counts once."""
    versions: tuple[SourceVersion, ...]
    """By file, the heaviest first of each."""
    lines: tuple[SourceLine, ...]
    """By version, then line; the heaviest if not all are shown."""
    lines_total: int
    remainder_self: int
    """Of the lines that are not shown."""
    without_line: int
    """Self of the functions that nobody knows the line of: `itself.self` is this, the lines and the remainder."""


@dataclass(frozen=True, slots=True)
class LinesAnswer:
    """Lines, and what they were made of."""

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
        """The lines; none if no stack has such a function. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        lined = reading.lined(self.selection, binary_builds.LABELS)
        found = source_lines(reading, self.selection, lined, self.subject, self.limit)
        return LinesAnswer(lined.samples.kind, totals(reading.functions, lined.samples), found)


def source_lines(
    reading: Reading, selection: Selection, lined: LinedSamples, subject: Subject, limit: int
) -> SourceLines:
    """The subject's lines in samples that were read with `builds.LABELS`."""
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
