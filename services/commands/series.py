"""`fleetprof series`: a selection over time."""

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
    Select,
    Since,
    Until,
    open_queries,
)
from services.configuration.settings import read_settings
from services.queries.engine_choice import EngineChoice


def series(  # noqa: PLR0917 - the command line is its signature
    select: Select = "{}",
    event: Event = "cpu",
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    focus: Focus = "",
    ignore: Ignore = "",
    by: Annotated[
        str,
        typer.Option(
            help="Keys of the rows, as in `fleetprof query`, e.g. application. Default: only the total."
        ),
    ] = "",
    rows: Annotated[
        int, typer.Option(min=1, max=50, help="Maximum number of rows, the heaviest of the whole time range.")
    ] = 8,
    step: Annotated[
        str,
        typer.Option(
            help="Length of a step, e.g. 10m, 1h, 1d. Default: the shortest with at most --points steps."
        ),
    ] = "",
    points: Annotated[int, typer.Option(min=1, max=1000, help="Maximum number of steps.")] = 30,
    engine: Engine = EngineChoice.POSTGRES,
    as_json: AsJson = False,
) -> None:
    """Print a selection over time: busy cores with their interval, and the self shares of the heaviest rows.

    Steps are whole minutes, hours, days or weeks in UTC.

    Example: `fleetprof series --by application --from now-7d --step 1d`
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services.api.parameters import keys_of  # noqa: PLC0415
    from services.views import series as view  # noqa: PLC0415
    from services.views import terminal  # noqa: PLC0415
    from storage.query.answers.answer import as_document  # noqa: PLC0415
    from storage.query.answers.series_columns import series_columns  # noqa: PLC0415
    from storage.query.selections.times import parse_length  # noqa: PLC0415
    from storage.query.shapes.series import SeriesQuestion  # noqa: PLC0415

    selection_options = {"select": select, "start": since, "end": until, "event": event, "campaign": campaign}
    selection_options |= {"focus": focus, "ignore": ignore}
    others = {"by": Typed("--by", by), "step": Typed("--step", step)}
    with open_queries(read_settings(), engine, selection_options, others) as (queries, selection):
        question = SeriesQuestion(
            selection,
            keys_of(by) if by.strip() else (),
            rows,
            points,
            parse_length(step, parameter="step") if step else 0,
        )
        answer = queries.ask(question)
    if as_json:
        typer.echo(json.dumps(as_document(series_columns(answer))))
        return
    console = Console(highlight=False)
    console.print(terminal.totals_line(answer), soft_wrap=True)
    console.print(view.series(answer))
