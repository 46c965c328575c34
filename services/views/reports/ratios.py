"""Ratios of counters in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import (
    amount,
    columns,
    few_note,
    figure,
    inputs,
    more,
    render_report,
)

if TYPE_CHECKING:
    from storage.query.answers.ratios import RatioAnswer


def ratios(answer: "RatioAnswer") -> RenderableType:
    """The rows of /analysis/ratios."""
    return render_report(answer, lambda: _body(answer), inputs(answer.inputs))


def _body(answer: "RatioAnswer") -> RenderableType:
    times = ("from",) if answer.step_seconds else ()
    named = tuple(answer.by) or ("",)
    table = columns(
        *times, answer.ratio + ", 95 %", "visits", "machines", "work", *named, wide=(*times, *named)
    )
    for row in answer.rows:
        when = (row.from_[:16].replace("T", " "),) if row.from_ is not None else ()
        names = [Text(value or "(none)") for value in row.key.values()] or [Text("all together")]
        table.add_row(
            *when,
            figure(row.ratio, low_confidence=row.low_confidence),
            f"{row.visits:,}",
            f"{row.machines:,}",
            amount(row.denominator),
            *names,
        )
    note = Text(
        f"{answer.unit}; work: {answer.ratio.split(' / ')[-1]} counted in the covered time, estimated",
        "dim",
    )
    return Group(table, *more(answer), *few_note(answer.rows), note)
