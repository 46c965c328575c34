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
        Text("Nothing says that the test is no part of production.", "green")
        if answer["representative"]
        else Text("The test does not represent production.", "red")
    )
    lines = [
        verdict,
        Text(
            f"distance {figure(answer['matched'])}, of parts of production from the rest of it {figure(answer['floor'])}; "
            f"{share(answer['p'])} of them are as far off"
        ),
        Text(
            f"by {answer['compared_visits']:,} visits and {amount(answer['compared_samples'])} samples each; with all samples "
            f"{answer['distance']:.2f} of 2",
            "dim",
        ),
        Text(f"the test ran {share(answer['covered'])} of what production spends its samples in"),
    ]
    if not answer["rows"]:
        return Group(*lines, Text("No row differs by more than chance.", "dim"))
    name = ", ".join(answer["by"])
    table = columns(f"test less production, {level_of(answer)}", "test", "production", name, wide=(name,))
    for row in answer["rows"]:
        delta = row["delta"]
        table.add_row(
            f"{100 * delta['value']:+.2f} pp ({100 * delta['lo']:+.2f}…{100 * delta['hi']:+.2f})",
            share(row["test_share"]),
            share(row["production_share"]),
            Text(row["key"].get("function") or ", ".join(value or "(none)" for value in row["key"].values())),
        )
    return Group(*lines, table, *more(answer))
