"""Slowdowns at other frequencies, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import (
    amount,
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
    from storage.query.answers.frequency import FrequencyAnswer, FrequencyRow
    from storage.query.answers.frequency_fit import FrequencyFitRow
    from storage.query.answers.slowdowns import Memory, Slowdown


def frequency(answer: "FrequencyAnswer") -> RenderableType:
    """The rows of /analysis/frequency, with the model's limits."""
    return Group(
        render_report(answer, lambda: _body(answer), inputs(answer.inputs)), *left_out(answer.left_out)
    )


def _body(answer: "FrequencyAnswer") -> RenderableType:
    kept = f"lowest MHz for {share(answer.performance)}"
    known = next((row.slowdowns for row in answer.rows if row.slowdowns), ())
    at = [f"at {each.mhz:,.0f} MHz" for each in known]
    names = ("waits for memory, 95 %", *at, kept, "visits", "application")
    table = columns(*names, wide=names[-1:])
    unavailable: list[Text] = []
    for row in answer.rows:
        unavailable += unavailable_of(row, row.application or "(none)")
        if row.off_chip is None:
            continue
        slower = [_slower(each) for each in row.slowdowns]
        table.add_row(
            figure(row.off_chip, share, low_confidence=row.low_confidence),
            *slower,
            *("–" for _ in at[len(slower) :]),
            lowest(row, memory=answer.memory is not None),
            f"{row.visits:,}",
            Text(row.application or "(none)"),
        )
    naive = ", ".join(f"{100 * each.naive:+.1f} %" for each in known)
    base = answer.base_mhz
    notes = (
        [Text(f"relative to {base:,.0f} MHz; if all time were on the chip: {naive}", "dim")]
        if base and known
        else []
    )
    latencies = [
        Text(f"a miss on {each.platform} takes {amount(each.value)} ns", "dim") for each in answer.latencies
    ]
    limits = [Text(f"not in the model: {limit}", "dim") for limit in answer.limits]
    notes += memory_note(answer.memory)
    return Group(table, *unavailable, *more(answer), *few_note(answer.rows), *notes, *latencies, *limits)


def unavailable_of(row: "FrequencyRow | FrequencyFitRow", called: str) -> list[Text]:
    """The reasons for a missing row, a missing lowest frequency, and a missing one with another memory."""
    why = (("", row.because), (" with that memory", row.lowest_at_memory_because))
    return [Text(f"{called}{where}: {each.detail}", "yellow") for where, each in why if each is not None]


def lowest(row: "FrequencyRow | FrequencyFitRow", *, memory: bool) -> str:
    """The lowest frequency, and the one with another memory; "any" or a dash where there is none."""
    found = [(row.lowest_mhz, row.because)]
    found += [(row.lowest_at_memory_mhz, row.lowest_at_memory_because)] if memory else []
    return " → ".join(
        f"{each.value:,.0f}"
        if each is not None
        else ("any" if why is not None and why.reason == "unbounded" else "–")
        for each, why in found
    )


def memory_note(memory: "Memory | None") -> list[Text]:
    """The meaning of an arrow, and its assumption."""
    if memory is None:
        return []
    return [
        Text(
            f"→ with memory at {memory.target_mhz:,.0f} instead of {memory.measured_mhz:,.0f} MHz, if {share(memory.part)} of the"
            f" waiting time scales with the memory's clock",
            "dim",
        )
    ]


def _slower(each: "Slowdown") -> str:
    found = [each.slowdown, *([] if each.at_memory is None else [each.at_memory])]
    return " → ".join("–" if one is None else f"{100 * one.value:+.1f} %" for one in found)
