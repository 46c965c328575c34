"""Used capacity of the cores, in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.reports.report_envelope import (
    amount,
    columns,
    few_note,
    figure,
    inputs,
    left_out,
    render_report,
)
from services.views.terminal import seconds, share

if TYPE_CHECKING:
    from storage.query.answers.apu import ApuAnswer, Coefficient


class WithCoefficients(Protocol):
    """An answer that uses coefficients."""

    @property
    def coefficients(self) -> "Sequence[Coefficient]":
        """The coefficients."""
        ...


def apu(answer: "ApuAnswer") -> RenderableType:
    """The rows of /analysis/apu."""
    return Group(
        render_report(answer, lambda: _body(answer), inputs(answer.inputs)), *left_out(answer.left_out)
    )


def _body(answer: "ApuAnswer") -> RenderableType:
    table = _uses(answer) if answer.by == "application" else _loads(answer)
    return Group(table, *few_note(answer.rows), *coefficients(answer), *_hardware(answer))


def _loads(answer: "ApuAnswer") -> Table:
    names = (
        "APU, 95 %",
        "CPU utilisation",
        "any thread busy",
        "simplified",
        "visits",
        "machines",
        answer.by,
    )
    table = columns(*names, wide=names[-1:])
    for row in answer.rows:
        table.add_row(
            figure(row.apu, share, low_confidence=row.low_confidence),
            *(
                share(None if found is None else found.value)
                for found in (row.utilisation, row.thread_any, row.simplified)
            ),
            f"{row.visits:,}",
            "–" if row.machines is None else f"{row.machines:,}",
            Text(row.value or "(none)"),
        )
    return table


def _uses(answer: "ApuAnswer") -> Table:
    names = (
        "core-seconds used up",
        "for each CPU second, 95 %",
        "by counters",
        "visits",
        "counted",
        "application",
    )
    table = columns(*names, wide=names[-1:])
    for row in answer.rows:
        table.add_row(
            seconds(row.core_seconds),
            figure(row.per_cpu_second, low_confidence=row.low_confidence),
            figure(row.hardware_per_cpu_second),
            f"{row.visits:,}",
            f"{row.hardware_visits:,}",
            Text(row.value or "(none)"),
        )
    return table


def _hardware(answer: "ApuAnswer") -> list[RenderableType]:
    """The rows by counters of cycles, beside the operating systems' figures of the same visits."""
    rows = [(row, row.hardware) for row in answer.rows if row.hardware is not None]
    used = f"{answer.hardware_used:,} of {answer.inputs.used:,} visits"
    lines: list[RenderableType] = [Text(f"by counters of cycles: {used}", "bold" if rows else "dim")]
    if rows:
        names = (
            "APU, 95 %",
            "by systems, same visits",
            "any thread busy",
            "both busy",
            "by systems",
            "differs by up to",
            "visits",
            answer.by,
        )
        table = columns(*names, wide=names[-1:])
        for row, of in rows:
            table.add_row(
                figure(of.apu, share, low_confidence=row.low_confidence),
                *(
                    share(found.value)
                    for found in (of.system_apu, of.thread_any, of.overlap, of.system_overlap)
                ),
                share(of.largest_disagreement),
                f"{row.hardware_visits:,}",
                Text(row.value or "(none)"),
            )
        lines.append(table)
    return lines + [
        Text(f"without counters of cycles: {left.visits:,} visits, {left.why}", "dim")
        for left in answer.hardware_left_out
    ]


def coefficients(answer: "WithCoefficients") -> list[Text]:
    """The overlap coefficients that were used."""
    return [
        Text(
            f"overlap coefficient of {one.platform or 'any platform'}"
            f"{', ' + one.workload if one.workload else ''}: {amount(one.value)}, "
            f"{'measured' if one.measured else 'given'}",
            "dim",
        )
        for one in answer.coefficients
    ]
