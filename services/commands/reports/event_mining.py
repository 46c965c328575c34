"""`fleetprof report events`: the events that determine the speed of an application."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.command_line.caret_errors import Typed
from services.command_line.selection_options import AsJson, Campaign, Since, Until
from services.commands.reports.report_command import OnlyMachines, SelectionOptions, Shown, report

if TYPE_CHECKING:
    from services.queries.local_queries import StoreQueries
    from storage.query.answers.events import EventsAnswer
    from storage.query.selections.selection import Selection


def events(  # noqa: PLR0917 - the command line is its signature
    application: Annotated[str, typer.Argument(help="Application.")],
    select: OnlyMachines = "{}",
    least_share: Annotated[
        float,
        typer.Option(
            min=0.5,
            max=1,
            help="Minimum share of a machine's CPU time that the application must have in a visit.",
        ),
    ] = 0.8,
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Shown = 10,
    as_json: AsJson = False,
) -> None:
    """Print the events on which an application's instructions per cycle depend, and the machine settings that change them.

    Needs machines that run little else, and a campaign that counts events: `fleetprof campaigns set … --counter l2-misses`.
    The model's error is printed beside that of always predicting the mean. The exit code is 3 if there is no result.

    Example: `fleetprof report events checkout --campaign counting`
    """
    from services.views.reports.events import events as view  # noqa: PLC0415
    from storage.query.models.events import EventsQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "EventsAnswer":
        return queries.ask(EventsQuestion(selection, application, least_share))

    selection_options = SelectionOptions(select, since, until, campaign)
    typed = {"target": Typed("APPLICATION", application)}
    report(selection_options, typed, make, lambda answer: view(answer, rows=rows), as_json=as_json)
