"""Two machine types under equal traffic, in a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from services.terminal import share
from services.views.reports.apu import coefficients
from services.views.reports.told import Answer, amount, columns, few_note, figure, left_out, told

_SAYS = {
    "old": "the old type costs less for the same work",
    "new": "the new type costs less for the same work",
    "unclear": "unclear: the interval holds the ratio of prices",
}


def machine_types(answer: Answer) -> RenderableType:
    """The figures of /analysis/machine-types."""
    return Group(told(answer, lambda: _body(answer)), *left_out(answer["left_out"]))


def _body(answer: Answer) -> RenderableType:
    table = columns(
        "price", "CPU utilisation, 95 %", "APU, 95 %", "visits", "machines", "platform", wide=("platform",)
    )
    for row in answer["rows"]:
        table.add_row(
            amount(row["price"]),
            figure(row["utilisation"], share),
            figure(row["apu"], share, few=row["few"]),
            f"{row['visits']:,}",
            f"{row['machines']:,}",
            Text(row["platform"]),
        )
    lines = [
        Text(
            f"by {name}: one new machine replaces {figure(answer[ratio])} old ones at {amount(answer['price_ratio'])} times the price; {_SAYS[answer[verdict]]}"
        )
        for name, ratio, verdict in (
            ("utilisation", "utilisation_ratio", "by_utilisation"),
            ("APU", "apu_ratio", "by_apu"),
        )
    ]
    if answer["stress_test"]:
        lines.append(Text("A stress test must decide.", "bold yellow"))
    note = Text("as far as machines of both types got equal traffic in this selection", "dim")
    return Group(table, *few_note(answer["rows"]), *lines, note, *coefficients(answer))
