"""`fleetprof report`: reports on the whole fleet."""

from typing import Annotated

import typer

from services.command_line.caret_errors import Typed
from services.command_line.selection_options import AsJson, Campaign, Engine, Event, Select, open_queries
from services.commands.reports import (
    audits,
    capacity_planning,
    colocation,
    cores,
    counters,
    event_mining,
    frequencies,
)
from services.commands.reports.report_command import NO_ANSWER
from services.configuration.settings import read_settings
from services.queries.engine_choice import EngineChoice

app = typer.Typer(no_args_is_help=True, help="Reports on the whole fleet.")
for _asked in (
    *(counters.cpi, counters.cross_check, counters.platforms),
    *(cores.apu, cores.affinity),
    *(frequencies.frequency, frequencies.frequency_fit, frequencies.frequency_times),
    *(audits.composition, audits.feature, audits.load_test, audits.stability),
    *(capacity_planning.capacity, capacity_planning.machine_types),
    *(colocation.interference, colocation.placement, event_mining.events),
):
    app.command()(_asked)


@app.callback()
def report() -> None:
    """Reports on the whole fleet. The exit code is 3 if a report has no result; it prints the reason."""


@app.command()
def movers(  # noqa: PLR0917 - the command line is its signature
    select: Select = "{}",
    event: Event = "cpu",
    since: Annotated[
        str, typer.Option("--from", help="Start. Default without --from and --to: the last complete UTC day.")
    ] = "",
    until: Annotated[str, typer.Option("--to", help="End, in the same form.")] = "",
    before: Annotated[
        str,
        typer.Option(help="Distance to the base: 1d, or 1w for the same time last week."),
    ] = "1d",
    campaign: Campaign = "fleet",
    by: Annotated[
        str, typer.Option(help="Keys of the rows, as in `fleetprof query`: function, application, …")
    ] = "function",
    explain: Annotated[int, typer.Option(min=0, max=20, help="Number of largest movers to explain.")] = 5,
    engine: Engine = EngineChoice.POSTGRES,
    as_json: AsJson = False,
) -> None:
    """Print significant changes since the day before, and their causes.

    A cause is a version, compiler, kernel, platform, datacenter or application. Either its part of the fleet changed (mix), or
    the share changed more in it than elsewhere (within). The exit code is 3 if there is no result.

    Example: `fleetprof report movers '{application="search"}' --before 1w`
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services.api.parameters import keys_of  # noqa: PLC0415
    from services.api.profiles.movers import base_of, last_day  # noqa: PLC0415
    from services.views import movers as view  # noqa: PLC0415
    from services.views import terminal  # noqa: PLC0415
    from storage.query.answers.answer import as_document  # noqa: PLC0415
    from storage.query.shapes.movers import MoversQuestion  # noqa: PLC0415

    selection_options = {"select": select, "event": event, "campaign": campaign}
    selection_options |= {name: text for name, text in (("start", since), ("end", until)) if text}
    others = {"by": Typed("--by", by), "before": Typed("--before", before)}
    with open_queries(read_settings(), engine, selection_options, others) as (queries, selection):
        now = selection if since or until else last_day(selection)
        answer = queries.ask(MoversQuestion(now, base_of(now, before), keys_of(by), explain=explain))
    if as_json:
        typer.echo(json.dumps(as_document(answer)))
    else:
        console = Console(highlight=False)
        console.print(terminal.sides(answer), soft_wrap=True)
        console.print(view.movers(answer))
    if answer.because is not None:
        raise typer.Exit(NO_ANSWER)
