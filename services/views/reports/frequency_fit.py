"""A/f + B of applications on platforms, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.frequency import lowest, memory_note, unavailable_of
from services.views.reports.report_envelope import (
    columns,
    few_note,
    figure,
    inputs,
    left_out,
    more,
    render_report,
)
from services.views.terminal import share

if TYPE_CHECKING:
    from storage.query.answers.figures import Figure
    from storage.query.answers.frequency_fit import FrequencyFitAnswer, FrequencyFitRow

_CONFOUNDED = 0.7
"""Correlation of frequency and load above which the output warns."""


def frequency_fit(answer: "FrequencyFitAnswer") -> RenderableType:
    """The rows of /analysis/frequency-fit, with the measured frequencies and the model's limits."""
    return Group(
        render_report(answer, lambda: _body(answer), inputs(answer.inputs)), *left_out(answer.left_out)
    )


def _body(answer: "FrequencyFitAnswer") -> RenderableType:
    names = [
        *("waits, 95 %", "slowest shown", "if all on the chip"),
        *(["→ with other memory"] if answer.memory else []),
        *(f"lowest MHz for {share(answer.performance)}", "held out", "MHz seen", "visits", "machines"),
        *("platform", "application"),
    ]
    table = columns(*names, wide=names[-2:])
    unavailable: list[Text] = []
    notes: list[Text] = []
    for row in answer.rows:
        called = f"{row.application or '(none)'} on {row.platform or '(an unknown platform)'}"
        if row.off_chip is None:
            unavailable += unavailable_of(row, called)
            continue
        table.add_row(*_cells(row, memory=answer.memory is not None))
        notes += unavailable_of(row, called)
        notes += [Text(f"{called}: {note}", "yellow") for note in _doubts(row)]
    limits = [Text(f"not in the model: {limit}", "dim") for limit in answer.limits]
    return Group(
        table,
        *unavailable,
        *notes,
        *more(answer),
        *few_note(answer.rows),
        *memory_note(answer.memory),
        *limits,
    )


def _cells(row: "FrequencyFitRow", *, memory: bool) -> list[str | Text]:
    slowest = max(row.slowdowns, key=lambda each: each.naive)
    held = [abs(step.held_out) for step in row.steps if step.held_out is not None]
    return [
        figure(row.off_chip, share, low_confidence=row.low_confidence),
        f"{slower(slowest.slowdown)} at {slowest.mhz:,.0f} of {row.base_mhz:,.0f} MHz",
        f"{100 * slowest.naive:+.1f} %",
        *([slower(slowest.at_memory)] if memory else []),
        lowest(row, memory=memory),
        f"{100 * sum(held) / len(held):.1f} %" if held else "–",
        ", ".join(f"{step.mhz:,.0f}" for step in row.steps),
        f"{row.visits:,}",
        f"{row.machines:,}",
        Text(row.platform or "(unknown)"),
        Text(row.application or "(none)"),
    ]


def slower(found: "Figure | None") -> str:
    """A slowdown with its sign and its interval."""
    return figure(found, lambda value: f"{100 * value:+.1f} %")


def _doubts(row: "FrequencyFitRow") -> list[str]:
    found = []
    if row.load_correlation is not None and row.load_correlation >= _CONFOUNDED:
        found.append(
            f"frequency and the machines' load are correlated ({row.load_correlation:.2f}): their effects can hardly be separated"
        )
    if row.clipped:
        found.append("one term was negative by chance and is set to 0")
    return found
