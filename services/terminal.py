"""How answers of the API look in a terminal.

Input is what `/api/v1/table` and `/api/v1/status` answer, so that terminal and browser show the
same figures.
"""

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

Answer = Mapping[str, Any]

FIRST = Text(
    "The first captures are being taken; the first of a new machine lands after about 20 s …", style="dim"
)


def hottest(answer: Answer, *, rows: int = 20) -> RenderableType:
    """Table of the hottest functions, most self time first, with what is not shown as the last line."""
    # Fixed widths: left to itself, rich gives a long name the room of the numbers.
    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("self", justify="right", no_wrap=True, width=7)
    table.add_column("self s", justify="right", no_wrap=True, width=7, style="dim")
    table.add_column("total", justify="right", no_wrap=True, width=7)
    table.add_column("function", no_wrap=True, overflow="ellipsis", ratio=3)
    table.add_column("binary", no_wrap=True, overflow="ellipsis", ratio=1, style="dim")
    shown = answer["rows"][:rows]
    for row in shown:
        key = row["key"]
        named = key.get("status") in {"full", "symtab"}
        table.add_row(
            share(row["self_share"]),
            seconds(row["self_seconds"]),
            share(row["total_share"]),
            Text(key["function"], style="" if named else "italic dim"),
            Text(key.get("binary", "")),  # "[kernel]" is a name, not rich's markup
        )
    left = answer["rows_total"] - len(shown)
    if left > 0:
        rest = 1.0 - sum(row["self_share"] for row in shown)
        table.add_row(share(max(rest, 0.0)), "", "", Text(f"{left:,} more functions", style="dim"), "")
    return table


def totals_line(answer: Answer) -> Text:
    """One line: how much was sampled, and how much of it has names and whole stacks."""
    totals = answer["totals"]
    if not totals["samples"]:
        return Text("No samples have landed yet.")
    parts = [
        f"{totals['samples']:,} samples",
        f"{seconds(totals['seconds'])} core-seconds",
        f"{totals['visits']:,} visits",
        f"{share(totals['symbolized'])} symbolized",
        f"{share(totals['complete'])} of stacks complete",
    ]
    return Text(" · ".join(parts))


def status_lines(status: Answer) -> list[Text]:
    """What a person should know of the running stack; empty while all is well."""
    lines = [
        Text(f"campaign {campaign['name']} is {campaign['state']}: {campaign['why']}", style="bold red")
        for campaign in status["campaigns"]
        if campaign["state"] == "stopped"
    ]
    if status["captures"]["set_aside"]:
        lines.append(
            Text(
                f"{status['captures']['set_aside']} captures could not be landed and were set aside",
                style="red",
            )
        )
    failed = {
        k: v for k, v in status["visits"]["last_hour"].items() if k not in {"answered", "drawn", "lost"} and v
    }
    if failed:
        lines.append(
            Text(
                "visits that failed in the last hour: " + ", ".join(f"{v} {k}" for k, v in failed.items()),
                style="yellow",
            )
        )
    return lines


def nameless_lines(status: Answer, *, least: float = 0.02, most: int = 4) -> list[Text]:
    """Which binaries' code has no names, and why, those first that hide most; none below `least`."""
    missing = [entry for entry in status["symbols"]["missing"] if entry["share"] >= least][:most]
    lines = [
        Text(
            f"  {share(entry['share'])} of samples pass through {entry['binary']}. {entry['reason']}",
            style="dim",
        )
        for entry in missing
    ]
    return [Text("Functions without names:", style="dim"), *lines] if lines else []


def live(answer: Answer, status: Answer, *, rows: int) -> RenderableType:
    """What `fleetprof up` shows while it runs."""
    waiting = status["captures"]["waiting"]
    head = totals_line(answer)
    if waiting:
        head.append(f" · {waiting} captures waiting to land", style="yellow")
    body: RenderableType = (
        hottest(answer, rows=rows)
        if answer["rows"]
        else Text("The first captures are being taken and landed …", style="dim")
    )
    return Group(head, *status_lines(status), Text(""), body)


def share(value: float | None) -> str:
    """A share as a percentage with one digit, or a dash where it is not known."""
    return "–" if value is None else f"{value:.1%}".replace("%", " %")


def seconds(value: float | None) -> str:
    """Seconds with a precision that fits their size, or a dash where the event does not count time."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"
