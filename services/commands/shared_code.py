"""`fleetprof shared-code`: code that is cold in each program and hot across the fleet."""

from enum import StrEnum
from typing import Annotated

import typer

from services.command_line.caret_errors import Typed
from services.command_line.selection_options import (
    AsJson,
    Campaign,
    Engine,
    Event,
    Rows,
    Select,
    Since,
    Until,
    open_queries,
)
from services.configuration.settings import read_settings
from services.queries.engine_choice import EngineChoice


class Code(StrEnum):
    """Granularity of code."""

    FUNCTION = "function"
    FILE = "file"
    BINARY = "binary"


class Of(StrEnum):
    """Kind of share."""

    SELF = "self"
    TOTAL = "total"


def shared_code(  # noqa: PLR0917 - the command line is its signature
    select: Select = "{}",
    event: Event = "cpu",
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    by: Annotated[Code, typer.Option(help="Granularity of code.")] = Code.FUNCTION,
    share: Annotated[Of, typer.Option(help="self, or total: with callees.")] = Of.SELF,
    cold: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="Omit functions whose share of any application is certainly larger than this.",
        ),
    ] = 0.05,
    applications: Annotated[
        int, typer.Option(min=1, help="Minimum number of applications that use a function.")
    ] = 2,
    saving: Annotated[
        float, typer.Option(min=0, max=1, help="Fraction of the cost that a change would save.")
    ] = 0.1,
    users: Annotated[
        str | None,
        typer.Option(
            metavar="FUNCTION",
            help="Instead, print the applications that use this function, and its callers in each. A name, or matchers in braces.",
        ),
    ] = None,
    rows: Rows = 30,
    engine: Engine = EngineChoice.POSTGRES,
    as_json: AsJson = False,
) -> None:
    """Print functions that cost each program little and the fleet much, and the value of a saving.

    In the profile of one application such a function is only a percent or two, so its owners overlook it. If
    FLEETPROF_PRICE_PER_CORE_HOUR is set, savings are in money.

    To list the callers of a function before you remove it: `fleetprof shared-code --users old_checksum`
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services.views import shared_code as view  # noqa: PLC0415
    from services.views import terminal  # noqa: PLC0415
    from storage.query.answers.answer import as_document  # noqa: PLC0415
    from storage.query.answers.shared_code import SharedCodeAnswer, UsersAnswer  # noqa: PLC0415
    from storage.query.shapes.shared_code import SharedCodeQuestion  # noqa: PLC0415
    from storage.query.shapes.users import UsersQuestion  # noqa: PLC0415
    from storage.query.subject import parse_subject  # noqa: PLC0415

    settings = read_settings()
    own = share is Of.SELF
    selection_options = {"select": select, "start": since, "end": until, "event": event, "campaign": campaign}
    with open_queries(settings, engine, selection_options, {"function": Typed("--users", users or "")}) as (
        queries,
        selection,
    ):
        answer: UsersAnswer | SharedCodeAnswer
        if users is not None:
            answer = queries.ask(UsersQuestion(selection, parse_subject(function=users), limit=rows))
        else:
            price = settings.price_per_core_hour
            question = SharedCodeQuestion(selection, by.value, own, cold, applications, rows, saving, price)
            answer = queries.ask(question)
    if as_json:
        typer.echo(json.dumps(as_document(answer)))
        return
    console = Console(highlight=False)
    console.print(terminal.totals_line(answer), soft_wrap=True)
    console.print(
        view.users(answer) if isinstance(answer, UsersAnswer) else view.shared_code(answer, own=own)
    )
