"""`fleetprof report composition`, `feature`, `load-test`, `stability`: the fleet's work, and reliability of profiles."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.command_line.selection_options import AsJson, Campaign, Event, Select, Since, Until
from services.commands.reports.report_command import SelectionOptions, report

By = Annotated[str, typer.Option(help="Keys of the rows, as in `fleetprof query`: function, application, …")]

if TYPE_CHECKING:
    from services.queries.local_queries import StoreQueries
    from storage.query.answers.composition import CompositionAnswer
    from storage.query.answers.feature import FeatureAnswer
    from storage.query.answers.load_test import LoadTestAnswer
    from storage.query.answers.stability import StabilityAnswer
    from storage.query.selections.selection import Selection


def composition(  # noqa: PLR0917 - the command line is its signature
    select: Select = "{}",
    by: Annotated[
        str, typer.Option(help="Label: version, compiler, builder, platform, kernel, datacenter …")
    ] = "version",
    step: Annotated[str, typer.Option(help="Length of a step, e.g. 1h, 1d. Default: a suitable one.")] = "",
    event: Event = "cpu",
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Annotated[int, typer.Option(min=1, max=100, help="Values to print.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Print the composition of work over time, and when the share of each value reached 10, 50 and 90 %, or fell again.

    It shows, for example, how fast a release, a compiler or a kernel rolls out. The exit code is 3 if there is no result.

    Example: `fleetprof report composition '{application="search"}' --by version`
    """
    from services.command_line.durations import step_of  # noqa: PLC0415
    from services.views.reports.composition import composition as view  # noqa: PLC0415
    from storage.query.models.composition import CompositionQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "CompositionAnswer":
        return queries.ask(CompositionQuestion(selection, by, step_of(step), 60, rows))

    typed = {"by": by, "step": step}
    report(SelectionOptions(select, since, until, campaign, event), typed, make, view, as_json=as_json)


def feature(  # noqa: PLR0917 - the command line is its signature
    functions: Annotated[
        str, typer.Argument(metavar="REGEX", help="RE2 pattern of function names, unanchored.")
    ],
    select: Select = "{}",
    speedup: Annotated[float, typer.Option(min=1, max=1e6, help="Speedup factor of the functions.")] = 2.0,
    event: Event = "cpu",
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Annotated[int, typer.Option(min=1, max=1000, help="Functions to print.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Print the effect of a hardware feature: the share of all functions with matching names, and the saving by a speedup.

    All shares are self shares. The exit code is 3 if there is no result.

    Example: `fleetprof report feature '^(__)?mem(cpy|move|set)' --speedup 3 --event cycles`
    """
    from services.views.reports.feature import feature as view  # noqa: PLC0415
    from storage.query.models.feature import FeatureQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "FeatureAnswer":
        return queries.ask(FeatureQuestion(selection, functions, speedup, rows))

    selection_options = SelectionOptions(select, since, until, campaign, event)
    report(selection_options, {"functions": functions}, make, view, as_json=as_json)


def load_test(  # noqa: PLR0917 - the command line is its signature
    test: Annotated[
        str, typer.Argument(metavar="TEST", help="Matchers of the test's visits, as in `fleetprof query`.")
    ],
    production: Annotated[str, typer.Argument(metavar="PRODUCTION", help="Matchers of production's visits.")],
    production_since: Annotated[
        str,
        typer.Option(
            "--production-from", help="Start of production's time range. Default: that of the test."
        ),
    ] = "",
    production_until: Annotated[
        str,
        typer.Option("--production-to", help="End of production's time range. Default: that of the test."),
    ] = "",
    by: By = "function",
    event: Event = "cpu",
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Annotated[int, typer.Option(min=1, max=500, help="Differing rows to print.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Print whether a load test runs the same code as production, and which functions differ.

    Production varies, too. The test is therefore compared with random parts of production that have the same number of visits
    and samples. The exit code is 3 if there is no result.

    Example: `fleetprof report load-test '{cluster="perf"}' '{cluster!="perf"}'`
    """
    from services.api.parameters import keys_of  # noqa: PLC0415
    from services.views.reports.load_test import load_test as view  # noqa: PLC0415
    from storage.query.models.load_test import LoadTestQuestion  # noqa: PLC0415
    from storage.query.selections.selection import parse_selection  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "LoadTestAnswer":
        base = parse_selection(
            event=event,
            start=production_since or since,
            end=production_until or until,
            select=production,
            campaign=campaign,
            prefix="production_",
        )
        return queries.ask(LoadTestQuestion(selection, base, keys_of(by), rows))

    typed = {"by": by, "production_select": production}
    typed |= {"production_from": production_since, "production_to": production_until}
    report(SelectionOptions(test, since, until, campaign, event), typed, make, view, as_json=as_json)


def stability(  # noqa: PLR0917 - the command line is its signature
    select: Select = "{}",
    by: By = "function",
    event: Event = "cpu",
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Print how reliable a profile is in one word (steady, fair, rough, shifting or few), with the reasons day by day.

    The exit code is 3 if there is no result.

    Example: `fleetprof report stability '{application="search"}'`
    """
    from services.api.parameters import keys_of  # noqa: PLC0415
    from services.views.reports.stability import stability as view  # noqa: PLC0415
    from storage.query.models.stability import StabilityQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "StabilityAnswer":
        return queries.ask(StabilityQuestion(selection, keys_of(by)))

    report(SelectionOptions(select, since, until, campaign, event), {"by": by}, make, view, as_json=as_json)
