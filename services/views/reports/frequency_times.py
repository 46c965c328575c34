"""A/f + B fitted to measured times, in a terminal."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.frequency_fit import slower
from services.views.reports.report_envelope import amount, columns, figure, unavailable
from services.views.terminal import share

if TYPE_CHECKING:
    from storage.query.answers.figures import Figure
    from storage.query.answers.frequency_times import FrequencyTimesAnswer
    from storage.query.answers.inputs import Unavailable


def frequency_times(answer: "FrequencyTimesAnswer") -> RenderableType:
    """The fit of /analysis/frequency-times, its predictions, and its measurements."""
    if answer.because is not None:
        return unavailable(answer.because)
    limits = [Text(f"not in the model: {limit}", "dim") for limit in answer.limits]
    return Group(*_terms(answer), Text(), _seen(answer), Text(), _foretold(answer), *_lowest(answer), *limits)


def _terms(answer: "FrequencyTimesAnswer") -> list[Text]:
    parts = [f"A {figure(answer.on_chip_cycles)} cycles", f"B {figure(answer.fixed_seconds)} s"]
    if answer.memory_cycles is not None:
        parts.append(f"C {figure(answer.memory_cycles)} cycles of the memory")
    lines = [
        Text("T = A/f + B" + (" + C/f_mem" if answer.memory_cycles is not None else "") + ":  ")
        + Text(", ".join(parts), "bold"),
        Text(
            f"{figure(answer.off_chip, share)} of the time at {_base(answer)} does not scale with the cores' clock"
        ),
    ]
    if answer.clipped:
        lines.append(Text("one term was negative by chance and is set to 0", "yellow"))
    if answer.held_out_error is not None and answer.naive_error is not None:
        lines.append(
            Text(
                f"each frequency predicted from the others: mean error {100 * answer.held_out_error:.1f} %; if all time were"
                f" on the chip: {100 * answer.naive_error:.1f} %"
            )
        )
    else:
        lines.append(Text("too few frequencies to leave one out: the prediction error is unknown", "yellow"))
    return lines


def _base(answer: "FrequencyTimesAnswer") -> str:
    memory = answer.base_memory_mhz
    return f"{answer.base_mhz:,.0f} MHz" + (f", memory at {memory:,.0f}," if memory else "")


def _seen(answer: "FrequencyTimesAnswer") -> RenderableType:
    memory = any(row.memory_mhz is not None for row in answer.rows)
    names = [
        "MHz",
        *(["memory MHz"] if memory else []),
        "runs",
        "seconds",
        "fitted",
        "from the others",
        "naive",
    ]
    table = columns(*names)
    for row in answer.rows:
        table.add_row(
            f"{row.mhz:,.0f}",
            *([f"{row.memory_mhz:,.0f}"] if memory else []),
            f"{row.runs:,}",
            amount(row.seconds),
            amount(row.fitted),
            *("–" if error is None else f"{100 * error:+.1f} %" for error in (row.held_out, row.naive)),
        )
    return table


def _foretold(answer: "FrequencyTimesAnswer") -> RenderableType:
    target = answer.memory_target_mhz
    names = ["MHz", "seconds, 95 % of runs", "slowdown, 95 %", "if all on the chip"]
    table = columns(*names, *([f"with memory of {target:,.0f} MHz"] if target else []))
    for each in answer.slowdowns:
        table.add_row(
            f"{each.mhz:,.0f}",
            figure(each.seconds),
            slower(each.slowdown),
            f"{100 * each.naive:+.1f} %",
            *([slower(each.at_memory)] if target else []),
        )
    return table


def _lowest(answer: "FrequencyTimesAnswer") -> list[Text]:
    kept = f"{share(answer.performance)} of the performance at {answer.base_mhz:,.0f} MHz"
    lines = [_lowest_line(answer.lowest_mhz, kept, answer.lowest_because)]
    if answer.memory_target_mhz:
        other = f"{kept}, with memory of {answer.memory_target_mhz:,.0f} MHz"
        why = answer.lowest_at_memory_because
        lines.append(_lowest_line(answer.lowest_at_memory_mhz, other, why))
    return lines


def _lowest_line(found: "Figure | None", kept: str, why: "Unavailable | None") -> Text:
    if found is None:
        many = "any" if why is not None and why.reason == "unbounded" else "no"
        return Text(f"{many} frequency keeps {kept}" + (f": {why.detail}" if why else ""), "yellow")
    return Text(f"lowest MHz that keeps {kept}: {figure(found, lambda mhz: f'{mhz:,.0f}')}")
