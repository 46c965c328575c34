"""Shares of work over time, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import columns, figure, render_report
from services.views.series import sparkline
from services.views.terminal import share, totals_line

if TYPE_CHECKING:
    from storage.query.answers.composition import CompositionAnswer, ValueRow

_WORDS = {"constant": "no change detected", "too_little": "too few steps"}


def composition(answer: "CompositionAnswer") -> RenderableType:
    """The rows of /analysis/composition: shares over time, and when each rose or fell."""
    return render_report(answer, lambda: _body(answer), [totals_line(answer)])


def _body(answer: "CompositionAnswer") -> RenderableType:
    names = ("whole time", "last step, 95 %", "over time", answer.by, "reached")
    table = columns(*names, wide=names[2:])
    for row in answer.rows:
        shares = [(point.share, point.low_confidence) for point in row.points]
        last = next(((found, low) for found, low in reversed(shares) if found is not None), None)
        table.add_row(
            share(row.share),
            "–" if last is None else figure(last[0], share, low_confidence=last[1]),
            sparkline([None if found is None else found.value for found, _ in shares]),
            Text(row.value or "(none)"),
            _change(row),
        )
    left = answer.rows_total - len(answer.rows)
    notes = [Text(f"{left:,} more values", "dim")] if left > 0 else []
    return Group(table, *notes)


def _change(row: "ValueRow") -> Text:
    change, because = row.change, row.because
    if change is None:
        return Text("" if because is None else _WORDS.get(because.reason, because.detail), "dim")
    text = Text(", ".join(f"{one.level:.0%} {one.at[:16].replace('T', ' ')}" for one in change.reached))
    if change.fell_back:
        text.append(" fell back", "red")
    return text
