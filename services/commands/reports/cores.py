"""`fleetprof report apu`, `affinity`: what cores do and could do."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.commands.asked import AsJson, Campaign, Since, Until
from services.commands.reports.printing import Asked, Json, OfMachines, Shown, report

if TYPE_CHECKING:
    from services.hottest import StoreQueries
    from storage.query.selections.selection import Selection


def apu(  # noqa: PLR0917 - the command line is its signature
    select: OfMachines = "{}",
    by: Annotated[
        str,
        typer.Option(help="datacenter, platform, cluster, kernel, machine; application: what each uses up."),
    ] = "datacenter",
    coefficient: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=10,
            help="Overlap coefficient of platforms that were not calibrated; else they are left out.",
        ),
    ] = None,
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Shown = 20,
    as_json: AsJson = False,
) -> None:
    """Print how much of its cores' capacity the fleet really uses, beside what CPU utilisation says.

    The second thread of a core gives less than the first, so utilisation says too little. How much less is the overlap
    coefficient, calibrated for each platform or given here. Where machines count the cycles of threads and of cores, a second
    table says the same by these counters. `fleetprof report apu --by application --coefficient 1.4`
    Ends with 3 where nothing can be said.
    """
    from services.api.analysis.apu import apu_document  # noqa: PLC0415 - a command imports what it runs
    from services.views.reports.apu import apu as view  # noqa: PLC0415
    from storage.query.models.apu import ApuQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> Json:
        return apu_document(selection, queries.ask(ApuQuestion(selection, by, coefficient, rows)))

    report(Asked(select, since, until, campaign), {"by": by}, make, view, as_json=as_json)


def affinity(  # noqa: PLR0917 - the command line is its signature
    select: OfMachines = "{}",
    applications: Annotated[int, typer.Option(min=1, max=200, help="How many, those with most work.")] = 50,
    pin: Annotated[
        list[str] | None, typer.Option(help="An application that stays where it is; may be given again.")
    ] = None,
    largest_share: Annotated[
        float, typer.Option(min=0, max=1, help="Of an application that one platform may hold.")
    ] = 1.0,
    floor: Annotated[
        float, typer.Option(min=0, max=1, help="Part of what runs somewhere that must stay there: replicas.")
    ] = 0.0,
    room: Annotated[
        float, typer.Option(min=0, max=10, help="Part by which a platform may give more cycles than today.")
    ] = 0.0,
    cautious: Annotated[
        bool, typer.Option(help="Move only what pays off at the worse ends of the intervals.")
    ] = True,
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Print which applications should run on which platforms by their measured CPI, and what that would save.

    Nothing is moved: it is a plan under these constraints, with the optimism of a plan made from measurements taken off.
    `fleetprof report affinity --pin db --floor 0.2` Ends with 3 where nothing can be said.
    """
    from services.api.analysis.affinity import affinity_document  # noqa: PLC0415
    from services.views.reports.affinity import affinity as view  # noqa: PLC0415
    from storage.query.models.affinity import AffinityQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> Json:
        pinned = tuple(pin or ())
        question = AffinityQuestion(selection, applications, pinned, largest_share, floor, room, cautious)
        return affinity_document(selection, queries.ask(question))

    report(Asked(select, since, until, campaign), {}, make, view, as_json=as_json)
