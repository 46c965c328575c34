"""Shared by reports: options, the selection, printing, and the exit code for no result."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol, TypeVar, cast

import typer

from services.command_line.caret_errors import Typed
from services.command_line.selection_options import open_store_queries
from services.configuration.settings import read_settings

if TYPE_CHECKING:
    from rich.console import RenderableType

    from services.queries.local_queries import StoreQueries
    from storage.query.answers.answer import Answer
    from storage.query.selections.selection import Selection

_Answer = TypeVar("_Answer", bound="Reported")
NO_ANSWER = 3
"""Exit code of a report without a result; 0 is success, 1 and 2 are errors."""

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
"""Counters and CPUs belong to machines and applications, so only their labels can be matched."""
OnlyMachines = Annotated[
    str,
    typer.Argument(
        metavar="[SELECT]",
        help="Matchers on machine, datacenter, platform, cluster and kernel, e.g. '{cluster=\"search\"}'.",
    ),
]
"""The report needs all applications of a machine, so applications cannot be matched."""
Shown = Annotated[int, typer.Option("--rows", min=1, max=1000, help="Rows to print.")]


class Reported(Protocol):
    """The answer of a report."""

    @property
    def because(self) -> object:
        """The reason why there is no result; None: there is one."""


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """A selection as typed."""

    select: str
    since: str
    until: str
    campaign: str
    event: str = "cpu"


def report(
    selection_options: SelectionOptions,
    typed: Mapping[str, str | Typed],
    make: Callable[["StoreQueries", "Selection"], _Answer],
    view: Callable[[_Answer], "RenderableType"],
    *,
    as_json: bool,
) -> _Answer:
    """Print the result of `make`, as JSON or by `view`; exit with 3 if `because` has the reason for no result.

    `typed`: further options by parameter, for the position of errors; `Typed` if an option's name differs from the
    parameter's. Returns the result.
    """
    from rich.console import Console  # noqa: PLC0415 - a command imports what it runs

    from storage.query.answers.answer import as_document  # noqa: PLC0415

    parameters = {
        "select": selection_options.select,
        "start": selection_options.since,
        "end": selection_options.until,
    }
    parameters |= {"event": selection_options.event, "campaign": selection_options.campaign}
    others = {
        name: text
        if isinstance(text, Typed)
        else Typed(_CALLED.get(name, f"--{name.replace('_', '-')}"), text)
        for name, text in typed.items()
    }
    with open_store_queries(read_settings(), parameters, others) as (queries, selection):
        answer = make(queries, selection)
    if as_json:
        typer.echo(json.dumps(as_document(cast("Answer", answer))))
    else:
        Console(highlight=False).print(view(answer))
    if answer.because is not None:
        raise typer.Exit(NO_ANSWER)
    return answer
