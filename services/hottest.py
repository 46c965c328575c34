"""The table of hottest functions straight from the store, in the shape the API answers."""

from typing import Any

from services.api import answers
from storage.database import open_engine
from storage.query.engine import QueryEngine
from storage.query.selection import parse_selection
from storage.query.table import Page, Sort


def hottest_functions(
    database_url: str,
    *,
    event: str,
    since: str,
    until: str,
    select: str,
    campaign: str,
    rows: int,
) -> dict[str, Any]:
    """What `/api/v1/table?by=function` would answer. Raises `BadSelection`, and what the database raises."""
    selection = parse_selection(event=event, start=since, end=until, select=select, campaign=campaign)
    engine = open_engine(database_url, application="query", pool_size=2)
    queries = QueryEngine(engine)
    try:
        found = queries.table(selection, ["function"], Page(Sort.SELF_DESC, rows, 0, ""))
        return answers.table(selection, found)
    finally:
        queries.close()
        engine.dispose()
