"""The address that selects the same data at any later time."""

from urllib.parse import urlencode

from storage.query.answers.answer import as_document
from storage.query.facts.selection_echo import selection_echo
from storage.query.facts.visit_scan import SampleType
from storage.query.selections.selection import Selection


def address(route: str, selection: Selection, kind: SampleType, more: dict[str, str]) -> str:
    """A path and query; `more` are parameters of the route."""
    query = {**as_document(selection_echo(selection, kind)), **more}
    return f"/api/v1/{route}?{urlencode({name: value for name, value in query.items() if value})}"
