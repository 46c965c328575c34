"""Programs on machines, in a terminal."""

from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.interference import chip, longer, source
from services.views.reports.report_envelope import columns, left_out, render_report, trained_inputs

if TYPE_CHECKING:
    from storage.query.answers.placement import PlacedRow, PlacementAnswer


def placement(answer: "PlacementAnswer") -> RenderableType:
    """The rows of /analysis/placement by machine, or why each program cannot be placed."""
    return Group(
        render_report(answer, lambda: _body(answer), trained_inputs(answer.source, answer.inputs)),
        *_reasons(answer),
        *left_out(answer.left_out),
    )


def _body(answer: "PlacementAnswer") -> RenderableType:
    placed = sorted(answer.rows, key=lambda row: inf if row.machine is None else row.machine)
    limited = [row for row in placed if row.most is not None]
    met = sum(row.kept is True for row in limited)
    used = {row.machine for row in placed if row.machine is not None}
    lines = [
        Text(
            f"{len(placed):,} programs on {len(used):,} of {answer.machines:,} machines with {answer.slots:,} slots each",
            "dim",
        )
    ]
    if limited:
        # A target whose degradation no model can predict counts as not met.
        style = "green" if met == len(limited) else "bold yellow"
        lines.append(Text(f"{met:,} of {len(limited):,} limits are met.", style))
    names = ("machine", "longer than alone", "allowed", "limit", "application")
    table = columns(*names, wide=names[-1:])
    before: int | None = None
    for row in placed:
        at = row.machine
        table.add_row(
            "–" if at is None else "" if at == before else str(at),
            longer(row.degradation),
            "any" if row.most is None else longer(row.most),
            _limit(row),
            Text(row.application),
        )
        before = at
    notes = [Text("– longer than alone: no function predicts such a mix", "dim")] if _unknown(placed) else []
    found = (
        "no exchange of two programs improves this placement; it is not proven to be the best"
        if answer.ended
        else "the search stopped at its limit: a better placement may exist"
    )
    notes.append(Text(found, "dim" if answer.ended else "yellow"))
    return Group(*lines, table, *notes, *source(answer.source), *chip(answer.chip))


def _unknown(rows: "Sequence[PlacedRow]") -> bool:
    return any(row.machine is not None and row.degradation is None for row in rows)


def _limit(row: "PlacedRow") -> Text:
    if row.most is None or row.kept is None:
        return Text("–", "dim")
    return Text("met") if row.kept else Text("not met", "yellow")


def _reasons(answer: "PlacementAnswer") -> list[Text]:
    """The reasons of programs that are not placed, each once; the answer's own reason may contain the first of them."""
    detail_shown = "" if answer.because is None else answer.because.detail
    why = dict.fromkeys(row.because.detail for row in answer.rows if row.because is not None)
    return [Text(detail, "yellow") for detail in why if detail not in detail_shown]
