"""Exports of selections in the API's formats, straight from the store or the lake."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from services.api.formats.documents import Document
from services.api.formats.forms import Forms
from services.api.profiles import stacks as of_stacks
from services.api.profiles import table as of_table
from services.api.profiles.stacks import StacksRequest
from services.queries.local_queries import Queries
from storage.query.selections.selection import Selection
from storage.query.shapes.row_order import Page, Sort
from storage.query.shapes.table import MOST_ROWS, TableQuestion


def stacks(request: StacksRequest, form: str) -> bytes | Iterator[bytes]:
    """The response of `/api/v1/stacks?format=`. The query runs when this is called; large responses come in parts."""
    return of_stacks.FORMS.named(form).write(request)


def table(
    queries: Queries, selection: Selection, by: tuple[str, ...], form: str, limit: int | None
) -> bytes | Iterator[bytes]:
    """The response of `/api/v1/table?format=`."""
    page = Page(Sort.SELF_DESC, min(limit or MOST_ROWS, MOST_ROWS), 0, "")

    forms: Forms[Document] = of_table.FORMS
    return forms.named(form).write(lambda: queries.ask(TableQuestion(selection, by, page)))


@contextmanager
def progress() -> Iterator[Callable[[int], None]]:
    """Show a spinner and the number of bytes written on a terminal's standard error."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as shown:
        task = shown.add_task("exporting", total=None)
        yield lambda size: shown.advance(task, size)
