"""`fleetprof callers`: callers and callees of a function."""

from typing import Annotated

import typer

from services.command_line.caret_errors import Typed
from services.command_line.selection_options import (
    AsJson,
    Campaign,
    Engine,
    Event,
    Focus,
    Ignore,
    Rows,
    Select,
    Since,
    Until,
    open_queries,
)
from services.configuration.settings import read_settings
from services.queries.engine_choice import EngineChoice


def callers(  # noqa: PLR0917 - the command line is its signature
    function: Annotated[
        str,
        typer.Argument(
            help="Full name of a function; or matchers on function, file and binary in braces, e.g. '{binary=\"libz.so.1\"}'."
        ),
    ],
    select: Select = "{}",
    event: Event = "cpu",
    since: Since = "now-1h",
    until: Until = "now",
    campaign: Campaign = "fleet",
    focus: Focus = "",
    ignore: Ignore = "",
    tree: Annotated[
        bool,
        typer.Option(
            "--tree", help="Print trees, which also contain callers of callers and callees of callees."
        ),
    ] = False,
    rows: Rows = 15,
    engine: Engine = EngineChoice.POSTGRES,
    as_json: AsJson = False,
) -> None:
    """Print the callers and callees of a function.

    The column `of function` is the share of the function's own total: 80 % means that 80 % of the stacks through the function have
    this caller. A recursive call counts once per stack.

    Example: `fleetprof callers malloc '{application="nginx"}' --from now-1d`
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services.views import callers as view  # noqa: PLC0415
    from services.views import terminal  # noqa: PLC0415
    from storage.query.answers.answer import as_document  # noqa: PLC0415
    from storage.query.shapes.callers import CallersQuestion  # noqa: PLC0415
    from storage.query.subject import parse_subject  # noqa: PLC0415

    selection_options = {"select": select, "start": since, "end": until, "event": event, "campaign": campaign}
    selection_options |= {"focus": focus, "ignore": ignore}
    with open_queries(
        read_settings(), engine, selection_options, {"function": Typed("FUNCTION", function)}
    ) as (
        queries,
        selection,
    ):
        question = CallersQuestion(selection, parse_subject(function=function), rows)
        answer = queries.ask(question)
    if as_json:
        typer.echo(json.dumps(as_document(answer)))
        return
    console = Console(highlight=False)
    console.print(terminal.totals_line(answer), soft_wrap=True)
    console.print(view.trees(answer) if tree else view.callers(answer))
