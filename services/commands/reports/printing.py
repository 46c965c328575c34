"""How a report is asked for and printed: options, the selection they mean, and the exit code for no answer."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from services.commands.asked import asking_store
from services.pointing import Typed
from services.settings import read_settings

if TYPE_CHECKING:
    from rich.console import RenderableType

    from services.hottest import StoreQueries
    from storage.query.selections.selection import Selection

Json = dict[str, Any]
NO_ANSWER = 3
"""Exit code of a report that cannot say anything: neither done (0) nor a mistake of the caller's (1, 2)."""

_CALLED = {
    "functions": "REGEX",
    "production_select": "PRODUCTION",
    "target": "TARGET",
    "tenants": "TENANTS",
}
"""Parameters that are arguments, not options."""

OfMachines = Annotated[
    str,
    typer.Argument(
        metavar="[SELECT]",
        help="Matchers on machine, datacenter, platform, cluster, kernel and application, e.g. '{platform=\"EPYC\"}'.",
    ),
]
"""Counters and CPUs belong to machines and applications, so a selection of them goes by nothing else."""
OnlyMachines = Annotated[
    str,
    typer.Argument(
        metavar="[SELECT]",
        help="Matchers on machine, datacenter, platform, cluster and kernel, e.g. '{cluster=\"search\"}'.",
    ),
]
"""All applications of a machine are part of such a question, so a selection of some would be wrong."""
Shown = Annotated[int, typer.Option("--rows", min=1, max=1000, help="Rows to print.")]


@dataclass(frozen=True, slots=True)
class Asked:
    """A selection as it was typed."""

    select: str
    since: str
    until: str
    campaign: str
    event: str = "cpu"


def report(
    asked: Asked,
    typed: Mapping[str, str | Typed],
    make: Callable[["StoreQueries", "Selection"], Json],
    view: Callable[[Json], "RenderableType"],
    *,
    as_json: bool,
) -> Json:
    """Print what `make` answers, as JSON or as `view` shows it; ends with 3 where `because` says why there is no answer.

    `typed`: further options by the parameter that a mistake in them is reported of, as Typed where the command line calls
    them otherwise. Returns the answer.
    """
    from rich.console import Console  # noqa: PLC0415 - a command imports what it runs

    parameters = {"select": asked.select, "start": asked.since, "end": asked.until}
    parameters |= {"event": asked.event, "campaign": asked.campaign}
    others = {
        name: text
        if isinstance(text, Typed)
        else Typed(_CALLED.get(name, f"--{name.replace('_', '-')}"), text)
        for name, text in typed.items()
    }
    with asking_store(read_settings(), parameters, others) as (queries, selection):
        answer = make(queries, selection)
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        Console(highlight=False).print(view(answer))
    if answer["because"] is not None:
        raise typer.Exit(NO_ANSWER)
    return answer
