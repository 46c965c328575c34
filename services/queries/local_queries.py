"""Answers straight from the store or the lake, in the API's shape."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from storage.database import open_engine
from storage.query.answers.diff import DiffAnswer
from storage.query.answers.reliability import ReliabilityAnswer
from storage.query.answers.table import TableAnswer
from storage.query.query_engine import OlderDays, QueryEngine
from storage.query.reading import Question
from storage.query.selections.selection import Selection, parse_selection
from storage.query.shapes.diff import DiffQuestion
from storage.query.shapes.reliability import ReliabilityQuestion
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.table import TableQuestion
from storage.query.store_reading import StoreQuestion

Json = dict[str, Any]
_Answer = TypeVar("_Answer")


class Queries(Protocol):
    """An engine that answers questions."""

    def ask(self, question: Question[_Answer]) -> _Answer:
        """The question's answer."""
        ...


class StoreQueries(Protocol):
    """As `Queries`, also for questions about data that only PostgreSQL has."""

    def ask(self, question: StoreQuestion[_Answer]) -> _Answer:
        """The question's answer."""
        ...


def hottest_functions(
    database_url: str,
    *,
    event: str,
    since: str,
    until: str,
    select: str,
    campaign: str,
    rows: int,
) -> TableAnswer:
    """The answer of `/api/v1/table?by=function`. Raises `BadSelection` and database errors."""
    selection = parse_selection(event=event, start=since, end=until, select=select, campaign=campaign)
    with postgres(database_url) as queries:
        return table(queries, selection, ("function",), rows)


def table(queries: Queries, selection: Selection, by: tuple[str, ...], rows: int) -> TableAnswer:
    """The answer of `/api/v1/table`."""
    return queries.ask(TableQuestion(selection, by, Page(Sort.SELF_DESC, rows, 0, "")))


def diff(
    queries: Queries, selection: Selection, base: Selection, by: tuple[str, ...], rows: int
) -> DiffAnswer:
    """The answer of `/api/v1/diff`, by self shares."""
    return queries.ask(DiffQuestion(selection, base, by, limit=rows, own=True))


def reliability(queries: Queries, selection: Selection, by: tuple[str, ...]) -> ReliabilityAnswer:
    """The answer of `/api/v1/reliability`."""
    return queries.ask(ReliabilityQuestion(selection, by))


@contextmanager
def postgres(database_url: str, older: Callable[[], OlderDays] | None = None) -> Iterator[StoreQueries]:
    """Queries PostgreSQL; `older` is passed to `QueryEngine`."""
    engine = open_engine(database_url, application="query", pool_size=2)
    queries = QueryEngine(engine, older=older)
    try:
        yield queries
    finally:
        queries.close()
        engine.dispose()
