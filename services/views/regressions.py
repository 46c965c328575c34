"""A night's regressions for a terminal."""

import json
from collections.abc import Sequence
from datetime import date

from rich.console import Group, RenderableType
from rich.text import Text

from services.views.reports.report_envelope import columns
from storage.query.answers.answer import as_document
from storage.query.releases.nights import Found


def document(day: date, found: Sequence[Found]) -> str:
    """The night as JSON, with each application as in /api/v1/regressions."""
    rows = [
        {"application": one.application, "share": one.share, "comparison": as_document(one.comparison)}
        for one in found
    ]
    return json.dumps({"day": day.isoformat(), "applications": rows}, allow_nan=False)


def summary(day: date, found: Sequence[Found]) -> RenderableType:
    """One line about the night, and a row per application that changed."""
    changed = [one for one in found if one.comparison.verdict == "changed"]
    few = sum(one.comparison.verdict == "too_little" for one in found)
    line = Text(
        f"{day}: {len(found)} applications, {len(changed)} with a significant change, {few} with too few visits."
    )
    if not changed:
        return line
    rows = columns(
        "application", "now", "before", "grew", "shrank", "worst function", "before %", "now %", "q",
        wide=("application", "worst function"),
    )  # fmt: skip
    for one in changed:
        comparison = one.comparison
        versions = (comparison.version, comparison.previous)
        now, before = versions if comparison.kind == "release" else ("this week", "last week")
        worst = comparison.worst
        shown = (
            ("", "", "", "")
            if worst is None
            else (
                worst.key.get("function", ""),
                f"{100 * worst.b_share:.2f}",
                f"{100 * worst.a_share:.2f}",
                f"{worst.q:.2g}",
            )
        )
        rows.add_row(
            Text(one.application),
            Text(now),
            Text(before),
            str(comparison.grew),
            str(comparison.shrank),
            *map(Text, shown),
        )
    return Group(line, rows)
