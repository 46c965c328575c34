"""Two machine types under equal traffic, or at equal load, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.apu import coefficients
from services.views.reports.report_envelope import (
    amount,
    columns,
    few_note,
    figure,
    inputs,
    left_out,
    render_report,
    unavailable,
)
from services.views.terminal import share

if TYPE_CHECKING:
    from storage.query.answers.figures import Figure
    from storage.query.answers.inputs import Unavailable
    from storage.query.answers.machine_types import Advised, MachineTypesAnswer

_SAYS = {
    "old": "the old type costs less for the same work",
    "new": "the new type costs less for the same work",
    "unclear": "unclear: the interval contains the ratio of prices",
}


def machine_types(answer: "MachineTypesAnswer") -> RenderableType:
    """The figures of /analysis/machine-types."""
    return Group(
        render_report(answer, lambda: _body(answer), inputs(answer.inputs)), *left_out(answer.left_out)
    )


def _apu(answer: "MachineTypesAnswer") -> str:
    return "APU of counters" if answer.apu_basis == "counters" else "APU"


def _body(answer: "MachineTypesAnswer") -> RenderableType:
    price = answer.price_ratio
    lines = [
        _compared(
            "utilisation", price, answer.utilisation_ratio, answer.by_utilisation, answer.utilisation_because
        ),
        _compared(_apu(answer), price, answer.apu_ratio, answer.by_apu, answer.apu_because),
    ]
    if answer.stress_test:
        lines.append(Text("Run a stress test to decide.", "bold yellow"))
    parts: list[RenderableType] = [_loads(answer), *few_note(answer.rows)]
    if answer.basis == "request_rates":
        parts += [_work(answer), *lines, *_bent(answer)]
    else:
        parts += [
            *lines,
            Text("valid only if machines of both types received equal traffic in this selection", "dim"),
        ]
    return Group(*parts, *coefficients(answer))


def _compared(
    name: str,
    price: float | None,
    ratio: "Figure | None",
    advised: "Advised | None",
    because: "Unavailable | None",
) -> Text:
    if because is not None or price is None or advised is None:
        return Text.assemble(f"by {name}: ", "–" if because is None else unavailable(because))
    return Text(
        f"by {name}: one new machine replaces {figure(ratio)} old ones at {amount(price)} times the price; {_SAYS[advised]}"
    )


def _loads(answer: "MachineTypesAnswer") -> RenderableType:
    table = columns(
        "price",
        "CPU utilisation, 95 %",
        f"{_apu(answer)}, 95 %",
        "visits",
        "machines",
        "platform",
        wide=("platform",),
    )
    for row in answer.rows:
        table.add_row(
            amount(row.price),
            figure(row.utilisation, share),
            figure(row.apu, share, low_confidence=row.low_confidence),
            f"{row.visits:,}",
            "–" if row.machines is None else f"{row.machines:,}",
            Text(row.platform),
        )
    return table


def _work(answer: "MachineTypesAnswer") -> RenderableType:
    """The requests that a machine of each type serves, and their price."""
    at = share(answer.full)
    table = columns(
        f"requests/s at {at}",
        "price of one request/s",
        "steps",
        "observed up to",
        "by",
        "platform",
        wide=("platform",),
    )
    for row in answer.rows:
        for name, found in (("utilisation", row.by_utilisation), (_apu(answer), row.by_apu)):
            if found is not None and found.because is None:
                table.add_row(
                    figure(found.rate),
                    figure(found.price),
                    f"{found.observations:,}",
                    share(found.reach),
                    name,
                    Text(row.platform),
                )
    return table


def _bent(answer: "MachineTypesAnswer") -> list[Text]:
    return [
        Text(f"{row.platform}: the points are not on a line, do not trust this forecast", "yellow")
        for row in answer.rows
        if any(found is not None and found.curved for found in (row.by_utilisation, row.by_apu))
    ]
