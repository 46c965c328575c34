"""`fleetprof report cpi`, `cross-check`, `platforms`: hardware counters of machines."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.command_line.selection_options import AsJson, Campaign, Since, Until
from services.commands.reports.report_command import OfMachines, SelectionOptions, Shown, report

if TYPE_CHECKING:
    from services.queries.local_queries import StoreQueries
    from storage.query.answers.cross_check import CrossCheckAnswer
    from storage.query.answers.ratios import RatioAnswer
    from storage.query.answers.side_by_side import SideAnswer
    from storage.query.selections.selection import Selection


def cpi(  # noqa: PLR0917 - the command line is its signature
    select: OfMachines = "{}",
    ratio: Annotated[
        str,
        typer.Option(help="Ratio: cpi, ipc and similar, or two counters, e.g. llc-misses/instructions."),
    ] = "cpi",
    by: Annotated[
        str,
        typer.Option(
            help="Keys of the rows, comma-separated: application, platform, datacenter, cluster, kernel, machine. Empty: one row."
        ),
    ] = "application",
    step: Annotated[str, typer.Option(help="Length of a step, e.g. 1h, 1d. Default: no steps.")] = "",
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Shown = 20,
    as_json: AsJson = False,
) -> None:
    """Print cycles per instruction, or another ratio of counters, with its interval.

    Rows with the most work come first. Each value is a ratio of sums, not a mean of ratios. Machines without these counters
    are omitted; a line below the table lists them with the reasons. The exit code is 3 if there is no result.

    Example: `fleetprof report cpi --by application,platform --from now-7d`
    """
    from services.api.parameters import keys_of  # noqa: PLC0415
    from services.command_line.durations import step_of  # noqa: PLC0415 - a command imports what it runs
    from services.views.reports.ratios import ratios  # noqa: PLC0415
    from storage.query.models.ratios import RatioQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "RatioAnswer":
        keys = keys_of(by) if by.strip() else ()
        return queries.ask(RatioQuestion(selection, ratio, keys, step_of(step), rows))

    typed = {"by": by, "ratio": ratio, "step": step}
    report(SelectionOptions(select, since, until, campaign), typed, make, ratios, as_json=as_json)


def cross_check(  # noqa: PLR0917 - the command line is its signature
    select: OfMachines = "{}",
    by: Annotated[
        str, typer.Option(help="Key of the rows: datacenter, platform, cluster, kernel or machine.")
    ] = "datacenter",
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Compare the CPU time from samples with the busy time that the kernels of the same machines counted.

    The two differ if samples are lost, or if the kernels' accounting misses cycles. The exit code is 3 if there is no result.

    Example: `fleetprof report cross-check --by platform`
    """
    from services.views.reports.cross_check import cross_check as view  # noqa: PLC0415
    from storage.query.models.cross_check import CrossCheckQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "CrossCheckAnswer":
        return queries.ask(CrossCheckQuestion(selection, by))

    report(SelectionOptions(select, since, until, campaign), {"by": by}, make, view, as_json=as_json)


def platforms(  # noqa: PLR0917 - the command line is its signature
    first: Annotated[str, typer.Argument(help="Platform, as in `fleetprof machines list`.")],
    second: Annotated[str, typer.Argument(help="Another platform.")],
    select: OfMachines = "{}",
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Compare an application, or all machines, on two platforms, counter by counter.

    Counters that certainly differ tenfold or more are marked: the two platforms may not count the same thing.
    The exit code is 3 if there is no result.

    Example: `fleetprof report platforms Skylake Rome '{application="search"}'`
    """
    from services.views.reports.side_by_side import side_by_side  # noqa: PLC0415
    from storage.query.models.side_by_side import SideQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "SideAnswer":
        return queries.ask(SideQuestion(selection, first, second))

    report(SelectionOptions(select, since, until, campaign), {}, make, side_by_side, as_json=as_json)
