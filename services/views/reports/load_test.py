"""A load test beside production, in a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import AnswerJson, amount, columns, figure, more, unavailable
from services.views.terminal import level_of, share, sides


def load_test(answer: AnswerJson) -> RenderableType:
    """The figures of /analysis/load-test: "now" is the test, "base" is production."""
    because = answer["because"]
    return Group(sides(answer), _body(answer) if because is None else unavailable(because))


def _body(answer: AnswerJson) -> RenderableType:
    verdict = (
        Text("There is no evidence that the test differs from production.", "green")
        if answer["representative"]
        else Text("The test does not represent production.", "red")
    )
    lines = [
        verdict,
        Text(
            f"distance from production: {figure(answer['matched'])} for the test, {figure(answer['floor'])} for parts of production; "
            f"{share(answer['p'])} of these parts are at least as distant as the test"
        ),
        Text(
            f"from {answer['compared_visits']:,} visits and {amount(answer['compared_samples'])} samples each; with all samples the "
            f"test's distance is {answer['distance']:.2f}, at most 2",
            "dim",
        ),
        Text(f"{share(answer['covered'])} of production's samples are in rows that the test ran"),
    ]
    if not answer["rows"]:
        return Group(*lines, Text("No row differs by more than chance.", "dim"))
    name = ", ".join(answer["by"])
    table = columns(f"test − production, {level_of(answer)}", "test", "production", name, wide=(name,))
    for row in answer["rows"]:
        delta = row["delta"]
        table.add_row(
            f"{100 * delta['value']:+.2f} pp ({100 * delta['lo']:+.2f}…{100 * delta['hi']:+.2f})",
            share(row["test_share"]),
            share(row["production_share"]),
            Text(row["key"].get("function") or ", ".join(value or "(none)" for value in row["key"].values())),
        )
    return Group(*lines, table, *more(answer))
