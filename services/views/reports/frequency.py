"""Slowdowns at other frequencies, in a terminal."""

from rich.console import Group, RenderableType
from rich.text import Text

from services.terminal import share
from services.views.reports.told import Answer, amount, columns, few_note, figure, left_out, more, told


def frequency(answer: Answer) -> RenderableType:
    """The rows of /analysis/frequency, with what the model leaves out."""
    return Group(told(answer, lambda: _body(answer)), *left_out(answer["left_out"]))


def _body(answer: Answer) -> RenderableType:
    kept = f"lowest MHz for {share(answer['performance'])}"
    known: list[Answer] = next((row["slowdowns"] for row in answer["rows"] if row["slowdowns"]), [])
    at = [f"at {each['mhz']:,.0f} MHz" for each in known]
    names = ("waits for memory, 95 %", *at, kept, "visits", "application")
    table = columns(*names, wide=names[-1:])
    unsaid: list[Text] = []
    for row in answer["rows"]:
        if row["because"] is not None:
            unsaid.append(Text(f"{row['application'] or '(none)'}: {row['because']['detail']}", "yellow"))
        if row["off_chip"] is None:
            continue
        slower = [_slower(each) for each in row["slowdowns"]]
        lowest = [row["lowest_mhz"], *([row["lowest_at_memory_mhz"]] if answer["memory"] else [])]
        table.add_row(
            figure(row["off_chip"], share, few=row["few"]),
            *slower,
            *("–" for _ in at[len(slower) :]),
            " → ".join("–" if each is None else f"{each['value']:,.0f}" for each in lowest),
            f"{row['visits']:,}",
            Text(row["application"] or "(none)"),
        )
    naive = ", ".join(f"{100 * each['naive']:+.1f} %" for each in known)
    base = answer["base_mhz"]
    notes = (
        [Text(f"against {base:,.0f} MHz; if all time were on the chip: {naive}", "dim")]
        if base and known
        else []
    )
    latencies = [
        Text(f"a miss on {each['platform']} takes {amount(each['value'])} ns", "dim")
        for each in answer["latencies"]
    ]
    limits = [Text(f"left out by the model: {limit}", "dim") for limit in answer["limits"]]
    notes += memory_note(answer["memory"])
    return Group(table, *unsaid, *more(answer), *few_note(answer["rows"]), *notes, *latencies, *limits)


def memory_note(memory: Answer | None) -> list[Text]:
    """What stands behind an arrow, and what is assumed there."""
    if memory is None:
        return []
    return [
        Text(
            f"→ with memory of {memory['target_mhz']:,.0f} instead of {memory['measured_mhz']:,.0f} MHz, where {share(memory['part'])} of the"
            f" waiting goes with its clock",
            "dim",
        )
    ]


def _slower(each: Answer) -> str:
    found = [each["slowdown"], *([] if each["at_memory"] is None else [each["at_memory"]])]
    return " → ".join("–" if one is None else f"{100 * one['value']:+.1f} %" for one in found)
