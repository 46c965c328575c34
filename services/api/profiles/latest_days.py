"""The default time range of routes whose subject takes days."""

from dataclasses import replace
from datetime import timedelta

from fastapi import Request

from storage.query.selections.selection import Selection


def of_last_days(request: Request, selection: Selection, days: int) -> Selection:
    """The selection; if the request has no `from`, it begins this many days before its end."""
    if "from" in request.query_params:
        return selection
    return replace(selection, start=selection.end - timedelta(days=days))
