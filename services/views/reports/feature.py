"""The share of work that a hardware feature would speed up, and its saving, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import columns, figure, more, render_report
from services.views.terminal import share, totals_line

if TYPE_CHECKING:
    from storage.query.answers.feature import FeatureAnswer


def feature(answer: "FeatureAnswer") -> RenderableType:
    """The figures of /analysis/feature."""
    return render_report(answer, lambda: _body(answer), [totals_line(answer)])


def _body(answer: "FeatureAnswer") -> RenderableType:
    lines = [
        Text.assemble(
            "affected: ",
            (figure(answer.share, share, low_confidence=bool(answer.low_confidence)), "bold"),
            " of the selection",
        ),
        Text.assemble(
            f"saved if the affected functions become {answer.speedup:g} times as fast: ",
            (figure(answer.saved, share), "bold"),
        ),
        Text(
            f"based on the sum over {answer.rows_total:,} functions in each of {answer.visits:,} visits",
            "dim",
        ),
    ]
    if not answer.rows:
        return Group(*lines, Text("No sampled function has a matching name.", "yellow"))
    table = columns("self", "function", wide=("function",))
    for row in answer.rows:
        table.add_row(share(row.share), Text(row.function))
    return Group(*lines, table, *more(answer))
