"""`fleetprof report composition`: what the fleet's work is made of."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.commands.asked import AsJson, Campaign, Event, Select, Since, Until
from services.commands.reports.printing import Asked, Json, report

if TYPE_CHECKING:
    from services.hottest import Queries
    from storage.query.selections.selection import Selection


def composition(  # noqa: PLR0917 - the command line is its signature
    select: Select = "{}",
    by: Annotated[
        str, typer.Option(help="A label: version, compiler, builder, platform, kernel, datacenter …")
    ] = "version",
    step: Annotated[str, typer.Option(help="Length of a step, e.g. 1h, 1d; empty: a common one.")] = "",
    event: Event = "cpu",
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Annotated[int, typer.Option(min=1, max=100, help="Values to print.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Print what work is made of over time, and when each value reached 10, 50 and 90 % of it, or fell back.

    How fast does a release, a compiler or a kernel come? `fleetprof report composition '{application="search"}' --by version`
    Ends with 3 where nothing can be said.
    """
    from services.api.analysis.composition import composition_document  # noqa: PLC0415
    from services.api.analysis.told import step_of  # noqa: PLC0415
    from services.views.reports.composition import composition as view  # noqa: PLC0415
    from storage.query.models.composition import CompositionQuestion  # noqa: PLC0415

    def make(queries: "Queries", selection: "Selection") -> Json:
        question = CompositionQuestion(selection, by, step_of(step), 60, rows)
        return composition_document(selection, queries.ask(question))

    typed = {"by": by, "step": step}
    report(Asked(select, since, until, campaign, event), typed, make, view, as_json=as_json)
