"""`fleetprof report capacity`, `machine-types`: remaining capacity, and which machines to buy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from services.command_line.selection_options import AsJson, Campaign, Since, Until
from services.commands.reports.report_command import OfMachines, SelectionOptions, report

if TYPE_CHECKING:
    from services.queries.local_queries import StoreQueries
    from storage.query.answers.capacity import CapacityAnswer
    from storage.query.answers.machine_types import MachineTypesAnswer
    from storage.query.selections.selection import Selection

Coefficient = Annotated[
    float | None,
    typer.Option(min=1, max=10, help="Overlap coefficient of platforms without a calibration."),
]


def _file(whose: str) -> Any:
    return typer.Option(
        metavar="FILE",
        help=f"CSV of time and requests per second, the mean of one machine of the {whose} type.",
    )


def _query(whose: str) -> Any:
    return typer.Option(metavar="QUERY", help=f"PromQL query of the same rate of the {whose} type.")


OldRates = Annotated[Path | None, _file("old")]
NewRates = Annotated[Path | None, _file("new")]
OldQuery = Annotated[str, _query("old")]
NewQuery = Annotated[str, _query("new")]


def capacity(  # noqa: PLR0917 - the command line is its signature
    select: OfMachines = "{}",
    rates: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="CSV of time and requests per second of all these machines together."
        ),
    ] = None,
    prometheus: Annotated[
        str,
        typer.Option(
            metavar="QUERY", help="PromQL query of the same rate, for the server at FLEETPROF_PROMETHEUS_URL."
        ),
    ] = "",
    step: Annotated[
        str, typer.Option(help="Steps over which rates and load are averaged, e.g. 1h, 10m.")
    ] = "1h",
    full: Annotated[float, typer.Option(min=0.01, max=1, help="Load at which the service is full.")] = 1.0,
    coefficient: Coefficient = None,
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Print how many requests a service can serve, extrapolated by APU and by CPU utilisation.

    CPU utilisation overestimates the number and is printed for comparison. Match the machines of one service. Times in FILE
    are RFC 3339 with a zone, or seconds since 1970; a heading is skipped. The exit code is 3 if there is no result.

    Example: `fleetprof report capacity '{cluster="search"}' --rates rates.csv`
    """
    from services.command_line.durations import step_of  # noqa: PLC0415
    from services.commands.reports.request_rates import rate_source  # noqa: PLC0415
    from services.views.reports.capacity import capacity as view  # noqa: PLC0415
    from storage.query.models.capacity import MOST_STEPS, CapacityQuestion  # noqa: PLC0415
    from storage.query.shapes.steps import steps  # noqa: PLC0415

    source = rate_source(rates, prometheus, ("--rates", "--prometheus"))

    def make(queries: "StoreQueries", selection: "Selection") -> "CapacityAnswer":
        length = step_of(step) or 3600
        means = source.means(selection, steps(selection, MOST_STEPS, length))
        question = CapacityQuestion(selection, means, length, full, coefficient)
        return queries.ask(question)

    report(SelectionOptions(select, since, until, campaign), {"step": step}, make, view, as_json=as_json)


def machine_types(  # noqa: PLR0917 - the command line is its signature
    old: Annotated[str, typer.Argument(help="Platform, as in `fleetprof machines list`.")],
    new: Annotated[str, typer.Argument(help="Another platform.")],
    select: OfMachines = "{}",
    old_price: Annotated[
        float, typer.Option(min=1e-9, max=1e12, help="Price of a machine of the old type, in any currency.")
    ] = 1.0,
    new_price: Annotated[
        float,
        typer.Option(min=1e-9, max=1e12, help="Price of a machine of the new type, in the same currency."),
    ] = 1.0,
    old_rates: OldRates = None,
    new_rates: NewRates = None,
    old_prometheus: OldQuery = "",
    new_prometheus: NewQuery = "",
    step: Annotated[
        str, typer.Option(help="Steps over which rates and load are averaged, e.g. 1h, 10m.")
    ] = "1h",
    full: Annotated[
        float, typer.Option(min=0.01, max=1, help="Load at which the types are compared by their rates.")
    ] = 1.0,
    coefficient: Coefficient = None,
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Print whether a new machine type is worth its price, by CPU utilisation and by APU; if they disagree, run a test.

    With request rates of a machine of each type, the types are compared at the same load. FILE has the same format as in
    `fleetprof report capacity`. Without rates, match machines and a time with equal traffic for both types, as behind an even
    load balancer. The exit code is 3 if there is no result.

    Example: `fleetprof report machine-types Skylake Rome '{cluster="search"}' --new-price 1.33`
    """
    from services.command_line.durations import step_of  # noqa: PLC0415
    from services.commands.reports.request_rates import rate_source  # noqa: PLC0415
    from services.views.reports.machine_types import machine_types as view  # noqa: PLC0415
    from storage.query.models.capacity import MOST_STEPS  # noqa: PLC0415
    from storage.query.models.machine_types import MachineRates, MachineTypesQuestion  # noqa: PLC0415
    from storage.query.shapes.steps import steps  # noqa: PLC0415

    given = (old_rates, old_prometheus), (new_rates, new_prometheus)
    options = ("--old-rates", "--old-prometheus"), ("--new-rates", "--new-prometheus")
    sources = [
        rate_source(file, query, names) for (file, query), names in zip(given, options, strict=True)
    ] if any(file is not None or query for file, query in given) else []  # fmt: skip

    def make(queries: "StoreQueries", selection: "Selection") -> "MachineTypesAnswer":
        length = step_of(step) or 3600
        rates = None
        if sources:
            over = steps(selection, MOST_STEPS, length)
            of_old, of_new = (source.means(selection, over) for source in sources)
            rates = MachineRates(of_old, of_new, length, full)
        question = MachineTypesQuestion(selection, old, new, old_price, new_price, coefficient, rates)
        return queries.ask(question)

    report(SelectionOptions(select, since, until, campaign), {"step": step}, make, view, as_json=as_json)
