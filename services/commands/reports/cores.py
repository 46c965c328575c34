"""`fleetprof report apu`, `affinity`: used capacity of cores, and a better placement by platform."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.command_line.selection_options import AsJson, Campaign, Since, Until
from services.commands.reports.report_command import OfMachines, SelectionOptions, Shown, report

if TYPE_CHECKING:
    from services.queries.local_queries import StoreQueries
    from storage.query.answers.affinity import AffinityAnswer
    from storage.query.answers.apu import ApuAnswer
    from storage.query.selections.selection import Selection


def apu(  # noqa: PLR0917 - the command line is its signature
    select: OfMachines = "{}",
    by: Annotated[
        str,
        typer.Option(
            help="Key of the rows: datacenter, platform, cluster, kernel or machine; or application, for the part of the capacity that each uses."
        ),
    ] = "datacenter",
    coefficient: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=10,
            help="Overlap coefficient of platforms without a calibration. Default: omit these platforms.",
        ),
    ] = None,
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Shown = 20,
    as_json: AsJson = False,
) -> None:
    """Print which part of its cores' capacity the fleet uses (APU), beside CPU utilisation.

    The second thread of a core adds less than the first, so utilisation understates the use. The overlap coefficient,
    calibrated for each platform or given here, measures the difference. If machines count the cycles of threads and of cores,
    a second table has the same result from these counters. The exit code is 3 if there is no result.

    Example: `fleetprof report apu --by application --coefficient 1.4`
    """
    from services.views.reports.apu import apu as view  # noqa: PLC0415 - a command imports what it runs
    from storage.query.models.apu import ApuQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "ApuAnswer":
        return queries.ask(ApuQuestion(selection, by, coefficient, rows))

    report(SelectionOptions(select, since, until, campaign), {"by": by}, make, view, as_json=as_json)


def affinity(  # noqa: PLR0917 - the command line is its signature
    select: OfMachines = "{}",
    applications: Annotated[
        int,
        typer.Option(min=1, max=200, help="Number of applications in the plan, those with the most work."),
    ] = 50,
    pin: Annotated[list[str] | None, typer.Option(help="Application that must not move; repeatable.")] = None,
    largest_share: Annotated[
        float, typer.Option(min=0, max=1, help="Largest fraction of an application on one platform.")
    ] = 1.0,
    floor: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Smallest fraction of an application that stays on its platform, for replicas."
        ),
    ] = 0.0,
    room: Annotated[
        float, typer.Option(min=0, max=10, help="Fraction by which the cycles of a platform may grow.")
    ] = 0.0,
    cautious: Annotated[
        bool,
        typer.Option(help="Move an application only if this pays off at the worse ends of the intervals."),
    ] = True,
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Print which applications should run on which platforms by their measured CPI, and the saving.

    The result is a plan under these constraints; the command moves nothing. The saving is corrected for the optimism of a plan
    that is made from measurements. The exit code is 3 if there is no result.

    Example: `fleetprof report affinity --pin db --floor 0.2`
    """
    from services.views.reports.affinity import affinity as view  # noqa: PLC0415
    from storage.query.models.affinity import AffinityQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "AffinityAnswer":
        pinned = tuple(pin or ())
        question = AffinityQuestion(selection, applications, pinned, largest_share, floor, room, cautious)
        return queries.ask(question)

    report(SelectionOptions(select, since, until, campaign), {}, make, view, as_json=as_json)
