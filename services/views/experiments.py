"""Uploaded experiments for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from services.views.reports.report_envelope import amount, columns

AnswerJson = Mapping[str, Any]


def listing(sets: Sequence[AnswerJson]) -> Table:
    """One row per platform of a set."""
    rows = columns(
        "name", "added (UTC)", "alone", "beside", "targets", "platform", wide=("name", "targets", "platform")
    )
    for each in sets:
        for number, part in enumerate(each["platforms"]):
            rows.add_row(
                Text(each["name"] if not number else ""),
                each["added_at"][:16].replace("T", " ") if not number else "",
                f"{part['alone']:,}",
                f"{part['beside']:,}",
                Text(_some([target["application"] for target in part["targets"]])),
                Text(part["platform"]),
            )
    return rows


def stored(found: AnswerJson) -> Group:
    """The content of a set, by platform."""
    lines = [
        Text(
            f"{found['name']}: {found['alone']:,} runs alone and {found['beside']:,} beside others, "
            f"added {found['added_at'][:16].replace('T', ' ')} UTC{by(found)}"
        )
    ]
    for part in found["platforms"]:
        targets = ", ".join(f"{each['application']} ({each['runs']:,})" for each in part["targets"])
        lines.append(
            Text(f"on {part['platform']}: targets {targets}; pressure of {', '.join(part['programs'])}")
        )
    return Group(*lines)


def by(found: AnswerJson) -> str:
    """The uploader, if known, as a suffix of the time."""
    return f" by {found['added_by']}" if found["added_by"] else ""


def runs(found: AnswerJson, shown: int) -> RenderableType:
    """A set's first runs, each a line of its file."""
    names = ("line", "value", "metric", "lines/s", "memory/s", "cores", "target", "beside", "platform")
    table = columns(*names, wide=names[-3:])
    for run in found["rows"][:shown]:
        alone = not run["beside"]
        table.add_row(
            str(run["line"]),
            "–" if run["value"] is None else f"{run['value']:g}",
            run["metric"] or "–",
            amount(1e6 * run["lines"]) if alone else "",
            f"{amount(1e9 * run['gigabytes'])}B" if alone else "",
            f"{run['cores']:g}" if alone else "",
            Text(run["target"]),
            Text("; ".join(run["beside"]) or "(alone)"),
            Text(run["platform"]),
        )
    left = len(found["rows"]) - shown
    more = [Text(f"{left:,} more runs: --rows", "dim")] if left > 0 else []
    return Group(stored(found), table, *more)


def _some(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
