"""Source lines of some functions or of a file, as in an annotated source (DIGEST G18).

A file is identified by its content. Samples of builds with the same text are added up; different versions are listed
side by side. If no text is stored for a build, its version is unknown: all such builds form one more version.
"""

from dataclasses import dataclass

import numpy as np

from storage.query import binary_builds
from storage.query.answers.answer import extended
from storage.query.answers.lines import LineRow, LinesAnswer
from storage.query.answers.table import TableRow
from storage.query.facts.selection_echo import selection_echo
from storage.query.line_samples import LinedSamples
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.occurrences import Occurrences
from storage.query.shapes.row_order import Page, Sort, ordered
from storage.query.shapes.source_versions import VersionRows, Versions, versions_of
from storage.query.shapes.table import only_row, shown_rows
from storage.query.shapes.totals import totals
from storage.query.subject import Subject

MOST_ROWS = 20_000
MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class LinesQuestion:
    """The source lines of some functions in the selection."""

    selection: Selection
    subject: Subject
    limit: int = 2000

    def answer(self, reading: Reading) -> LinesAnswer:
        """The lines; none if no stack has the functions. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        lined, functions = reading.lined(self.selection, binary_builds.LABELS), reading.functions
        samples = lined.samples
        found = Occurrences.of(functions, samples, self.subject)
        behind, itself = totals(functions, samples), only_row(samples, found.together())
        lined = lined.of_functions(found.functions)
        versions = _versions(reading, self.selection, lined)
        rows = VersionRows(lined, versions)
        shown = np.sort(ordered(rows, Page(Sort.TOTAL_DESC, self.limit))[: self.limit])
        units = int(rows.own.sum())
        return LinesAnswer(
            selection=selection_echo(self.selection, samples.kind),
            totals=behind,
            functions=tuple(functions.row(id_).named() for id_ in found.functions[:MOST_NAMED].tolist()),
            functions_total=len(found.functions),
            itself=itself,
            versions=versions.versions,
            rows=tuple(
                _line(rows, place, row)
                for place, row in zip(shown.tolist(), shown_rows(lined.samples, rows, shown), strict=True)
            ),
            rows_total=len(rows.own),
            remainder_self=units - int(rows.own[shown].sum()),
            without_line=itself.self - units,
        )


def _versions(reading: Reading, selection: Selection, lined: LinedSamples) -> Versions:
    """The versions of the files with lines, in samples that were read with `binary_builds.LABELS`."""
    functions = reading.functions
    named = [functions.row(id_) for id_ in np.unique(lined.lines.function).tolist()]
    known = reading.builds(selection, lined.lines.profiles, (row.binary for row in named))
    contents = reading.contents(known.keys, (row.file for row in named))
    return versions_of(functions, lined, known, contents)


def _line(rows: VersionRows, place: int, row: TableRow) -> LineRow:
    version, line = rows.place(place)
    return extended(LineRow, row, version=version, line=line)
