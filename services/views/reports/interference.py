"""An application's slowdown beside others on a chip, in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.reports.report_envelope import (
    amount,
    columns,
    left_out,
    render_report,
    trained_inputs,
    unavailable,
)

if TYPE_CHECKING:
    from storage.query.answers.figures import Figure
    from storage.query.answers.interference import (
        Chip,
        InterferenceAnswer,
        MixAnswer,
        PieceRow,
        SoloRow,
        Source,
    )


def interference(answer: "InterferenceAnswer", *, beside: str = "", rows: int = 20) -> RenderableType:
    """The model of /analysis/interference and its mix; `beside` as typed, `rows` neighbours."""
    return Group(
        render_report(
            answer, lambda: _body(answer, beside, rows), trained_inputs(answer.source, answer.inputs)
        ),
        *left_out(answer.left_out),
    )


def source(of: "Source") -> list[Text]:
    """The experiments that trained the model, and why visits could not if none were requested; empty if visits did."""
    if of.trained_by == "visits":
        return []
    lines = [
        Text(
            f"trained on {of.runs:,} runs of the experiments {of.experiments}, not on the fleet's visits",
            "bold",
        )
    ]
    if of.instead_of_visits is not None:
        because = of.instead_of_visits
        lines.append(Text(f"no result from visits ({because.reason}): {because.detail}", "yellow"))
    return lines


def chip(of: "Chip") -> list[Text]:
    """The chips of an answer, and the source of their memory's peak bandwidth."""
    counter = of.lines or "the experiments' own count"
    lines = [Text(f"on {of.platform or 'an unknown platform'}; lines are {counter}", "dim")]
    if of.peak_gbs is not None:
        how = ", the maximum in one visit; --peak-gbs or a calibration is more accurate"
        lines.append(
            Text(
                f"peak memory bandwidth of a chip: {amount(1e9 * of.peak_gbs)}B/s{how if of.peak_is_seen else ''}",
                "dim",
            )
        )
    return lines


def longer(degradation: float | None) -> str:
    """A degradation with its sign, since some programs run faster beside others: `+12.3 %`; never `-0.0 %`.

    A dash if it is unknown.
    """
    return "–" if degradation is None else f"{round(100 * degradation, 1) + 0.0:+.1f} %"


def _interval(degradation: "Figure | None") -> str:
    if degradation is None:
        return "–"
    ends = (degradation.lo, degradation.hi)
    lo, hi = ("" if end is None else longer(end).removesuffix(" %") for end in ends)
    return f"{longer(degradation.value)} ({lo}…{hi})"


def _points(error: float | None) -> str:
    return "–" if error is None else f"{100 * error:.2f} points"


def _times(factor: float, value: float | None) -> str:
    return "–" if value is None else amount(factor * value)


def _per_sigma(slope: float | None) -> str:
    return "–" if slope is None else f"{100 * slope:+.1f} pp"


def _body(answer: "InterferenceAnswer", beside: str, rows: int) -> RenderableType:
    single = "visit" if answer.source.trained_by == "visits" else "run"
    mix = _mix(answer.mix, answer.target, beside, single) if answer.mix is not None else []
    trained_by = source(answer.source)
    return Group(
        *mix,
        *trained_by,
        *_fit(answer),
        *_pieces(answer.rows),
        *_neighbours(answer, rows),
        *chip(answer.chip),
    )


def _mix(mix: "MixAnswer", target: str, beside: str, single: str) -> list[Text]:
    if mix.because is not None:
        return [Text.assemble(f"{target} beside {beside}: ", unavailable(mix.because))]
    lines = [
        Text.assemble(
            f"{target} beside {beside} takes longer than alone by ",
            (_interval(mix.degradation), "bold"),
            f" in a {single}, 95 %; the mean of all training mixes is {longer(mix.baseline)}",
        ),
        Text(
            f"at a total of {_times(1e6, mix.lines)} lines/s and {_times(1e9, mix.gigabytes)}B/s, {mix.piece}",
            "dim",
        ),
    ]
    if mix.extrapolated:
        lines.append(Text("No training mix had such pressures: do not trust this prediction.", "yellow"))
    return lines


def _fit(answer: "InterferenceAnswer") -> list[Text]:
    mixes = "visits" if answer.source.trained_by == "visits" else "runs"
    lines = [
        Text(
            f"error on {answer.mixes:,} {mixes} beside known neighbours: {_points(answer.error)} with the function, "
            f"{_points(answer.baseline_error)} with their mean of {longer(answer.baseline)}"
        )
    ]
    error, of_mean = answer.error, answer.baseline_error
    if error is not None and of_mean is not None and error >= of_mean:
        lines.append(Text("The function is no better than the mean.", "yellow"))
    if answer.unknown_neighbour_visits:
        lines.append(
            Text(
                f"{answer.unknown_neighbour_visits:,} visits beside other applications are not used: the pressure of those applications is unknown",
                "dim",
            )
        )
    return lines


def _pieces(pieces: "Sequence[PieceRow]") -> list[RenderableType]:
    table = columns(
        "at mean pressure", "per σ of lines", "per σ of memory", "r²", "p", "mixes", "outliers", "piece"
    )
    without: list[RenderableType] = []
    for piece in pieces:
        if piece.because is not None:
            without.append(Text(f"{piece.piece}: {piece.because.detail}", "yellow"))
            continue
        table.add_row(
            longer(piece.intercept),
            f"{_per_sigma(piece.cache)} of {_times(1e6, piece.cache_sigma)}/s",
            f"{_per_sigma(piece.bandwidth)} of {_times(1e9, piece.bandwidth_sigma)}B/s",
            "–" if piece.r2 is None else f"{piece.r2:.2f}",
            "–" if piece.f_p is None else f"{piece.f_p:.2g}",
            f"{piece.mixes:,}",
            f"{piece.outliers:,}",
            piece.piece,
        )
    return [table, *without] if table.row_count else without


def _neighbours(answer: "InterferenceAnswer", rows: int) -> list[RenderableType]:
    known = sorted(answer.neighbours, key=lambda each: -each.gigabytes)
    table: Table = columns(
        "alone", "lines/CPU s", "memory/CPU s", "seen in", "application", wide=("application",)
    )
    for each in known[:rows]:
        table.add_row(
            _alone(each),
            amount(1e6 * each.lines),
            f"{amount(1e9 * each.gigabytes)}B",
            f"{each.visits:,} visits" if each.visits else f"{each.runs:,} runs",
            Text(each.application or "(none)"),
        )
    left = len(known) - rows
    return [table, *([Text(f"{left:,} more applications", "dim")] if left > 0 else [])]


def _alone(each: "SoloRow") -> str:
    """CPI or time alone; a dash if experiments measured the pressure only."""
    if each.cpi is not None:
        return f"CPI {each.cpi:.2f}"
    return "–" if each.time_s is None else f"{amount(each.time_s)} s"
