"""A load test beside production, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import amount, columns, figure, more, unavailable
from services.views.terminal import level_of, share, sides

if TYPE_CHECKING:
    from storage.query.answers.load_test import LoadTestAnswer


def load_test(answer: "LoadTestAnswer") -> RenderableType:
    """The figures of /analysis/load-test: "now" is the test, "base" is production."""
    because = answer.because
    return Group(sides(answer), _body(answer) if because is None else unavailable(because))


def _body(answer: "LoadTestAnswer") -> RenderableType:
    verdict = (
        Text("There is no evidence that the test differs from production.", "green")
        if answer.representative
        else Text("The test does not represent production.", "red")
    )
    assert answer.compared_samples is not None, answer.because
    lines = [
        verdict,
        Text(
            f"distance from production: {figure(answer.matched)} for the test, {figure(answer.floor)} for parts of production; "
            f"{share(answer.p)} of these parts are at least as distant as the test"
        ),
        Text(
            f"from {answer.compared_visits:,} visits and {amount(answer.compared_samples)} samples each; with all samples the "
            f"test's distance is {answer.distance:.2f}, at most 2",
            "dim",
        ),
        Text(f"{share(answer.covered)} of production's samples are in rows that the test ran"),
    ]
    if not answer.rows:
        return Group(*lines, Text("No row differs by more than chance.", "dim"))
    name = ", ".join(answer.by)
    table = columns(f"test − production, {level_of(answer)}", "test", "production", name, wide=(name,))
    for row in answer.rows:
        delta = row.delta
        table.add_row(
            f"{_points(delta.value)} pp ({_points(delta.lo)}…{_points(delta.hi)})",
            share(row.test_share),
            share(row.production_share),
            Text(row.key.get("function") or ", ".join(value or "(none)" for value in row.key.values())),
        )
    return Group(*lines, table, *more(answer))


def _points(share: float | None) -> str:
    """A difference in percentage points; empty if nothing bounds it."""
    return "" if share is None else f"{100 * share:+.2f}"
