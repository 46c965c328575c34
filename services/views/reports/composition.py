"""Shares of work over time, in a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import AnswerJson, columns, render_report
from services.views.series import sparkline
from services.views.terminal import share

_WORDS = {"constant": "no change detected", "too_little": "too few steps"}


def composition(answer: AnswerJson) -> RenderableType:
    """The rows of /analysis/composition: shares over time, and when each rose or fell."""
    return render_report(answer, lambda: _body(answer))


def _body(answer: AnswerJson) -> RenderableType:
    names = ("whole time", "last step, 95 %", "over time", answer["by"], "reached")
    table = columns(*names, wide=names[2:])
    for row in answer["rows"]:
        points = row["points"]
        last = next((point for point in reversed(points) if point["share"] is not None), None)
        at_last = "–"
        if last is not None:
            one = last["share"]
            at_last = f"{share(one['value'])} ({100 * one['lo']:.1f}–{100 * one['hi']:.1f})"
            at_last += " ?" if last["low_confidence"] else ""
        table.add_row(
            share(row["share"]),
            at_last,
            sparkline([None if point["share"] is None else point["share"]["value"] for point in points]),
            Text(row["value"] or "(none)"),
            _change(row),
        )
    left = answer["rows_total"] - len(answer["rows"])
    notes = [Text(f"{left:,} more values", "dim")] if left > 0 else []
    return Group(table, *notes)


def _change(row: AnswerJson) -> Text:
    change = row["change"]
    if change is None:
        because = row["because"]
        return Text(_WORDS.get(because["reason"], because["detail"]), "dim")
    text = Text(
        ", ".join(f"{level['level']:.0%} {level['at'][:16].replace('T', ' ')}" for level in change["reached"])
    )
    if change["fell_back"]:
        text.append(" fell back", "red")
    return text
