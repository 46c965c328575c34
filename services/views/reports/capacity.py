"""Request rates against load, and the rate at full load, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.apu import coefficients
from services.views.reports.report_envelope import (
    amount,
    columns,
    figure,
    inputs,
    left_out,
    render_report,
    unavailable,
)
from services.views.terminal import share

if TYPE_CHECKING:
    from storage.query.answers.capacity import CapacityAnswer, ForecastAnswer


def capacity(answer: "CapacityAnswer") -> RenderableType:
    """The forecasts of /analysis/capacity, and their steps."""
    return Group(
        render_report(answer, lambda: _body(answer), inputs(answer.inputs)), *left_out(answer.left_out)
    )


def _body(answer: "CapacityAnswer") -> RenderableType:
    table = columns(
        "requests/s", "CPU utilisation, 95 %", "APU, 95 %", "by counters", "visits", "from", wide=("from",)
    )
    for row in answer.rows:
        table.add_row(
            "–" if row.rate is None else amount(row.rate),
            figure(row.utilisation, share),
            figure(row.apu, share),
            "–" if row.hardware_apu is None else share(row.hardware_apu.value),
            f"{row.visits:,}",
            row.from_[:16].replace("T", " "),
        )
    lines: list[Text] = []
    for found, name in (
        (answer.by_utilisation, "utilisation"),
        (answer.by_apu, "APU"),
        (answer.by_hardware, "APU of counters"),
    ):
        lines += _forecast(found, name, answer.full)
    return Group(table, *lines, *coefficients(answer))


def _forecast(found: "ForecastAnswer", name: str, full: float) -> list[Text]:
    if found.because is not None:
        return [Text.assemble(f"by {name}: ", unavailable(found.because))]
    lines = [
        Text.assemble(
            f"by {name}: ",
            (f"{figure(found.limit)} requests/s", "bold"),
            f" at {share(full)} load; load without requests {share(found.intercept)}, r² {found.r2:.2f} over "
            f"{found.observations} steps, observed up to {share(found.reach)} of this rate",
        )
    ]
    if found.curved:
        lines.append(Text("  the points are not on a line: do not trust this forecast", "yellow"))
    return lines
