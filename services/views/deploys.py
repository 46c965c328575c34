"""Marks of deploys for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from services.views.reports.report_envelope import columns

AnswerJson = Mapping[str, Any]


def listing(marks: Sequence[AnswerJson]) -> Table:
    """One row per mark."""
    rows = columns(
        "id",
        "at (UTC)",
        "application",
        "version",
        "text",
        "link",
        wide=("application", "version", "text", "link"),
    )
    for mark in marks:
        rows.add_row(
            str(mark["deploy_id"]),
            mark["at"][:16].replace("T", " "),
            *(Text(mark[name]) for name in ("application", "version", "text", "link")),
        )
    return rows
