"""Options of commands that query a selection, and the parsing of that selection."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from services.command_line.caret_errors import Typed, caret_on_error
from services.queries.engine_choice import EngineChoice

if TYPE_CHECKING:
    from services.configuration.settings import Settings
    from services.queries.local_queries import Queries, StoreQueries
    from storage.query.selections.selection import Selection

Select = Annotated[
    str, typer.Argument(help="Label matchers, as in `fleetprof query`, e.g. '{application=\"nginx\"}'.")
]
Event = Annotated[str, typer.Option(help="Event, e.g. cpu or page-faults.")]
Since = Annotated[str, typer.Option("--from", help="Start: RFC 3339, or now-15m, now-1d …")]
Until = Annotated[str, typer.Option("--to", help="End, in the same form.")]
Campaign = Annotated[str, typer.Option(help="Campaign.")]
Focus = Annotated[
    str, typer.Option(metavar="REGEX", help="Only stacks with a matching frame (RE2, unanchored).")
]
Ignore = Annotated[str, typer.Option(metavar="REGEX", help="Only stacks without a matching frame.")]
Engine = Annotated[EngineChoice, typer.Option(help="postgres, or duckdb for the lake at FLEETPROF_LAKE_URL.")]
Rows = Annotated[int, typer.Option(min=1, max=1000, help="Rows to print.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the API's JSON.")]


@contextmanager
def open_queries(
    settings: "Settings",
    engine: EngineChoice,
    selection_options: Mapping[str, str],
    others: Mapping[str, Typed],
) -> Iterator[tuple["Queries", "Selection"]]:
    """Open the query backend and parse the selection in `selection_options`, the parameters of `parse_selection`.

    An error in it, or in one of `others` (by parameter), ends the command and marks its position.
    """
    from services.queries.query_backend import LakeBackend, open_backend  # noqa: PLC0415 - a command imports what it runs

    with _parsed_selection(selection_options, others) as selection, open_backend(settings, engine) as queries:
        yield queries, selection
    if isinstance(queries, LakeBackend):
        typer.echo(queries.remark, err=True)


@contextmanager
def open_store_queries(
    settings: "Settings", selection_options: Mapping[str, str], others: Mapping[str, Typed]
) -> Iterator[tuple["StoreQueries", "Selection"]]:
    """As `open_queries`, with PostgreSQL only: for queries of data that the lake does not have."""
    from services.configuration.lake_settings import older_days  # noqa: PLC0415
    from services.queries.local_queries import postgres  # noqa: PLC0415

    with (
        _parsed_selection(selection_options, others) as selection,
        postgres(settings.needed_database_url(), older_days(settings)) as queries,
    ):
        yield queries, selection


@contextmanager
def _parsed_selection(
    selection_options: Mapping[str, str], others: Mapping[str, Typed]
) -> Iterator["Selection"]:
    """Parse the selection in `selection_options`; mark the position of an error in it or in the block."""
    from storage.query.selections.selection import parse_selection  # noqa: PLC0415

    called = {"select": "SELECT", "start": "--from", "end": "--to"}
    names = {"start": "from", "end": "to"}
    typed = {
        names.get(name, name): Typed(called.get(name, f"--{name.replace('_', '-')}"), text)
        for name, text in selection_options.items()
    }
    with caret_on_error({**typed, **others}):
        given: dict[str, Any] = dict(selection_options)
        yield parse_selection(**given)
