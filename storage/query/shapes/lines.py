"""Source lines of some functions or of a file, as in an annotated source (DIGEST G18).

A file is identified by its content. Samples of builds with the same text are added up; different versions are listed
side by side. If no text is stored for a build, its version is unknown: all such builds form one more version. With a
base, a line of it is the same line of the same text.
"""

from dataclasses import dataclass, replace

import numpy as np

from storage.query.answers.answer import extended
from storage.query.answers.lines import LineRow, LinesAnswer
from storage.query.facts.selection_echo import selection_echo
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.frame_keys import LINE
from storage.query.shapes.line_sides import NOWHERE, LineSide, MatchedLines
from storage.query.shapes.side_shares import in_base
from storage.query.shapes.table import shown_rows, unseen_row
from storage.query.shapes.totals import totals
from storage.query.subject import Subject

MOST_ROWS = 20_000
MOST_NAMED = 100


@dataclass(frozen=True, slots=True)
class LinesQuestion:
    """The source lines of some functions in the selection; with a base, also their shares there."""

    selection: Selection
    subject: Subject
    limit: int = 2000
    base: Selection | None = None
    """Its event is the selection's."""

    def answer(self, reading: Reading) -> LinesAnswer:
        """The lines; none if no stack has the functions. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        now = LineSide.read(reading, self.selection, self.subject)
        base = None if self.base is None else LineSide.read(reading, self.base, self.subject)
        sides = [now] if base is None else [now, base]
        lines = MatchedLines.of(sides)
        rows = _rows(now, lines, self.limit)
        units = int(now.rows.own.sum())
        named = np.concatenate([side.functions for side in sides])
        _, first = np.unique(named, return_index=True)
        named = named[np.sort(first)]
        kind, functions = now.samples.kind, reading.functions
        return LinesAnswer(
            selection=selection_echo(self.selection, kind),
            totals=totals(functions, now.samples),
            functions=tuple(functions.row(id_).named() for id_ in named[:MOST_NAMED].tolist()),
            functions_total=len(named),
            itself=now.itself,
            versions=lines.versions,
            rows=rows,
            rows_total=len(lines.number),
            remainder_self=units - sum(row.self for row in rows),
            without_line=now.itself.self - units,
            base=None if self.base is None else selection_echo(self.base, kind),
            base_totals=None if base is None else totals(functions, base.samples),
            base_itself=None if base is None else base.itself,
        )


def _rows(side: LineSide, lines: MatchedLines, most: int) -> tuple[LineRow, ...]:
    """The heaviest lines, with the evidence of the selection's visits."""
    shown = lines.heaviest(most)
    places = lines.places[0][shown]
    there = places[places != NOWHERE]
    seen = dict(zip(there.tolist(), shown_rows(side.samples, side.rows, there), strict=True))
    unseen = unseen_row(side.samples, {})
    found = []
    for at, place in zip(shown.tolist(), places.tolist(), strict=True):
        version, line = lines.version_and_line(at)
        key = {"file": lines.versions[version].file, LINE: str(line)}
        row = seen[place] if place != NOWHERE else replace(unseen, key=key)
        found.append(
            extended(
                LineRow, row, version=version, line=line, **in_base(lines.own_share, lines.total_share, at)
            )
        )
    return tuple(found)
