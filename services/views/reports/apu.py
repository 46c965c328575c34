"""Used capacity of the cores, in a terminal."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.reports.report_envelope import (
    AnswerJson,
    amount,
    columns,
    few_note,
    figure,
    left_out,
    render_report,
)
from services.views.terminal import seconds, share


def apu(answer: AnswerJson) -> RenderableType:
    """The rows of /analysis/apu."""
    return Group(render_report(answer, lambda: _body(answer)), *left_out(answer["left_out"]))


def _body(answer: AnswerJson) -> RenderableType:
    table = _uses(answer) if answer["by"] == "application" else _loads(answer)
    return Group(table, *few_note(answer["rows"]), *coefficients(answer), *_hardware(answer))


def _loads(answer: AnswerJson) -> Table:
    names = (
        "APU, 95 %",
        "CPU utilisation",
        "any thread busy",
        "simplified",
        "visits",
        "machines",
        answer["by"],
    )
    table = columns(*names, wide=names[-1:])
    for row in answer["rows"]:
        table.add_row(
            figure(row["apu"], share, low_confidence=row["low_confidence"]),
            *(share(row[name]["value"]) for name in ("utilisation", "thread_any", "simplified")),
            f"{row['visits']:,}",
            f"{row['machines']:,}",
            Text(row["value"] or "(none)"),
        )
    return table


def _uses(answer: AnswerJson) -> Table:
    names = (
        "core-seconds used up",
        "for each CPU second, 95 %",
        "by counters",
        "visits",
        "counted",
        "application",
    )
    table = columns(*names, wide=names[-1:])
    for row in answer["rows"]:
        table.add_row(
            seconds(row["core_seconds"]),
            figure(row["per_cpu_second"], low_confidence=row["low_confidence"]),
            figure(row["hardware_per_cpu_second"]),
            f"{row['visits']:,}",
            f"{row['hardware_visits']:,}",
            Text(row["value"] or "(none)"),
        )
    return table


def _hardware(answer: AnswerJson) -> list[RenderableType]:
    """The rows by counters of cycles, beside the operating systems' figures of the same visits."""
    rows = [row for row in answer["rows"] if row["hardware"] is not None]
    used = f"{answer['hardware_used']:,} of {answer['inputs']['used']:,} visits"
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
            answer["by"],
        )
        table = columns(*names, wide=names[-1:])
        for row in rows:
            of = row["hardware"]
            table.add_row(
                figure(of["apu"], share, low_confidence=row["low_confidence"]),
                *(
                    share(of[name]["value"])
                    for name in ("system_apu", "thread_any", "overlap", "system_overlap")
                ),
                share(of["largest_disagreement"]),
                f"{row['hardware_visits']:,}",
                Text(row["value"] or "(none)"),
            )
        lines.append(table)
    return lines + [
        Text(f"without counters of cycles: {left['visits']:,} visits, {left['why']}", "dim")
        for left in answer["hardware_left_out"]
    ]


def coefficients(answer: AnswerJson) -> list[Text]:
    """The overlap coefficients that were used."""
    return [
        Text(
            f"overlap coefficient of {one['platform'] or 'any platform'}"
            f"{', ' + one['workload'] if one['workload'] else ''}: {amount(one['value'])}, "
            f"{'measured' if one['measured'] else 'given'}",
            "dim",
        )
        for one in answer["coefficients"]
    ]
