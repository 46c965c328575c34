"""Two machine types under equal traffic, or at equal load, in a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.apu import coefficients
from services.views.reports.report_envelope import (
    AnswerJson,
    amount,
    columns,
    few_note,
    figure,
    left_out,
    render_report,
    unavailable,
)
from services.views.terminal import share

_SAYS = {
    "old": "the old type costs less for the same work",
    "new": "the new type costs less for the same work",
    "unclear": "unclear: the interval contains the ratio of prices",
}


def machine_types(answer: AnswerJson) -> RenderableType:
    """The figures of /analysis/machine-types."""
    return Group(render_report(answer, lambda: _body(answer)), *left_out(answer["left_out"]))


def _apu(answer: AnswerJson) -> str:
    return "APU of counters" if answer["apu_basis"] == "counters" else "APU"


def _body(answer: AnswerJson) -> RenderableType:
    lines = [
        Text.assemble(f"by {name}: ", unavailable(answer[why]))
        if answer[ratio] is None
        else Text(
            f"by {name}: one new machine replaces {figure(answer[ratio])} old ones at {amount(answer['price_ratio'])} times the price; {_SAYS[answer[verdict]]}"
        )
        for name, ratio, verdict, why in (
            ("utilisation", "utilisation_ratio", "by_utilisation", "utilisation_because"),
            (_apu(answer), "apu_ratio", "by_apu", "apu_because"),
        )
    ]
    if answer["stress_test"]:
        lines.append(Text("Run a stress test to decide.", "bold yellow"))
    parts: list[RenderableType] = [_loads(answer), *few_note(answer["rows"])]
    if answer["basis"] == "request_rates":
        parts += [_work(answer), *lines, *_bent(answer)]
    else:
        parts += [
            *lines,
            Text("valid only if machines of both types received equal traffic in this selection", "dim"),
        ]
    return Group(*parts, *coefficients(answer))


def _loads(answer: AnswerJson) -> RenderableType:
    table = columns(
        "price",
        "CPU utilisation, 95 %",
        f"{_apu(answer)}, 95 %",
        "visits",
        "machines",
        "platform",
        wide=("platform",),
    )
    for row in answer["rows"]:
        table.add_row(
            amount(row["price"]),
            figure(row["utilisation"], share),
            figure(row["apu"], share, low_confidence=row["low_confidence"]),
            f"{row['visits']:,}",
            "–" if row["machines"] is None else f"{row['machines']:,}",
            Text(row["platform"]),
        )
    return table


def _work(answer: AnswerJson) -> RenderableType:
    """The requests that a machine of each type serves, and their price."""
    at = share(answer["full"])
    table = columns(
        f"requests/s at {at}",
        "price of one request/s",
        "steps",
        "observed up to",
        "by",
        "platform",
        wide=("platform",),
    )
    for row in answer["rows"]:
        for name, found in (("utilisation", row["by_utilisation"]), (_apu(answer), row["by_apu"])):
            if found["because"] is None:
                table.add_row(
                    figure(found["rate"]),
                    figure(found["price"]),
                    f"{found['observations']:,}",
                    share(found["reach"]),
                    name,
                    Text(row["platform"]),
                )
    return table


def _bent(answer: AnswerJson) -> list[Text]:
    return [
        Text(f"{row['platform']}: the points are not on a line, do not trust this forecast", "yellow")
        for row in answer["rows"]
        if row["by_utilisation"]["curved"] or row["by_apu"]["curved"]
    ]
