"""Two platforms, counter by counter, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import columns, few_note, figure, inputs, render_report

if TYPE_CHECKING:
    from storage.query.answers.side_by_side import SideAnswer


def side_by_side(answer: "SideAnswer") -> RenderableType:
    """The rows of /analysis/side-by-side."""
    return render_report(answer, lambda: _body(answer), inputs(answer.inputs))


def _body(answer: "SideAnswer") -> RenderableType:
    names = (
        "figure",
        answer.first,
        answer.second,
        f"second ÷ first, {answer.interval_level * 100:.3g} %",
        "visits",
        "unit",
    )
    table = columns(*names, wide=(names[0], names[-1]))
    for row in answer.rows:
        factor = figure(row.factor, low_confidence=row.low_confidence)
        if row.suspect:
            factor += " !"
        table.add_row(
            Text(row.name),
            figure(row.first),
            figure(row.second),
            factor,
            f"{row.first_visits:,}, {row.second_visits:,}",
            row.unit,
            style="" if row.significant else "dim",
        )
    notes = [Text("grey: no significant difference", "dim"), *few_note(answer.rows)]
    if any(row.suspect for row in answer.rows):
        notes.append(
            Text(
                "! the whole interval is beyond a factor of ten: the events may not count the same thing",
                "dim",
            )
        )
    return Group(table, *notes)
