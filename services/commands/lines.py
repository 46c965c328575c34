"""`fleetprof lines`: source lines of a function or a file."""

from typing import Annotated

import typer

from services.command_line.caret_errors import Typed
from services.command_line.selection_options import AsJson, Campaign, Event, Rows, Since, Until, open_queries
from services.configuration.settings import read_settings
from services.queries.engine_choice import EngineChoice


def lines(  # noqa: PLR0917 - the command line is its signature
    function: Annotated[
        str,
        typer.Argument(
            help='Full name of a function; or matchers in braces, e.g. \'{file=~".*/inflate.c",binary="libz.so.1"}\'.'
        ),
    ],
    select: Annotated[
        str, typer.Argument(help='Label matchers, e.g. \'{application="nginx",version="2"}\'.')
    ] = "{}",
    event: Event = "cpu",
    since: Since = "now-1h",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Rows = 40,
    as_json: AsJson = False,
) -> None:
    """Print the source lines of a function, or of all functions of a file, with their cost.

    The costs of builds with the same source are added up. Different versions of a source are printed one after the other.
    Builds can be matched only if their sources are stored (`fleetprof symbols sources upload`).

    Example: `fleetprof lines inflate_fast --from now-1d`
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services.views import lines as view  # noqa: PLC0415
    from services.views import terminal  # noqa: PLC0415
    from storage.query.answers.answer import as_document  # noqa: PLC0415
    from storage.query.shapes.lines import LinesQuestion  # noqa: PLC0415
    from storage.query.subject import parse_subject  # noqa: PLC0415

    selection_options = {"select": select, "start": since, "end": until, "event": event, "campaign": campaign}
    with open_queries(
        read_settings(), EngineChoice.POSTGRES, selection_options, {"function": Typed("FUNCTION", function)}
    ) as (
        queries,
        selection,
    ):
        question = LinesQuestion(selection, parse_subject(function=function), rows)
        answer = queries.ask(question)
    if as_json:
        typer.echo(json.dumps(as_document(answer)))
        return
    console = Console(highlight=False)
    console.print(terminal.totals_line(answer), soft_wrap=True)
    console.print(view.lines(answer))
