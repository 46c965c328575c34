"""The resolved selection as answers repeat it."""

from urllib.parse import urlencode

from pydantic import Field

from services.api.answer import Answer, Json
from storage.query.facts.visit_scan import SampleType
from storage.query.selections.selection import Selection
from storage.query.selections.times import format_time


class SelectionEcho(Answer):
    """The request's selection, with every default and relative time filled in."""

    event: str = Field(examples=["cpu"])
    unit: str = Field(description="Unit of a sample's value.", examples=["nanoseconds"])
    start: str = Field(
        alias="from", description="RFC 3339, UTC; inclusive.", examples=["2026-11-21T04:00:00Z"]
    )
    to: str = Field(description="RFC 3339, UTC; exclusive.", examples=["2026-11-21T05:00:00Z"])
    select: str = Field(
        description="The matchers, those on labels first.", examples=['{application="nginx"}']
    )
    campaign: str = Field(examples=["fleet"])
    focus: str = Field(description="Empty: not set, like the next fields.")
    ignore: str
    hide: str
    show: str
    show_from: str


def selection_document(selection: Selection, kind: SampleType) -> Json:
    """The selection with its resolved event and unit."""
    return {
        "event": kind.event,
        "unit": kind.unit,
        "from": format_time(selection.start),
        "to": format_time(selection.end),
        "select": selection.select,
        "campaign": selection.campaign,
        "focus": selection.focus,
        "ignore": selection.ignore,
        "hide": selection.hide,
        "show": selection.show,
        "show_from": selection.show_from,
    }


def address(route: str, selection: Selection, kind: SampleType, more: dict[str, str]) -> str:
    """A path and query that select the same data at any later time; `more` are parameters of the route."""
    query = {**selection_document(selection, kind), **more}
    return f"/api/v1/{route}?{urlencode({name: value for name, value in query.items() if value})}"
