"""`fleetprof report capacity`, `machine-types`: how much is left, and what to buy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from services.commands.asked import AsJson, Campaign, Since, Until
from services.commands.reports.printing import Asked, Json, OfMachines, report

if TYPE_CHECKING:
    from services.hottest import StoreQueries
    from storage.query.selections.selection import Selection

Coefficient = Annotated[
    float | None,
    typer.Option(min=1, max=10, help="Overlap coefficient of platforms that were not calibrated."),
]


def _file(whose: str) -> Any:
    return typer.Option(
        metavar="FILE",
        help=f"CSV of time and requests per second of one machine of the {whose} type, a mean.",
    )


def _query(whose: str) -> Any:
    return typer.Option(metavar="QUERY", help=f"Or a query of the same of the {whose} type.")


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
            metavar="QUERY", help="Or a query of the same to the server at FLEETPROF_PROMETHEUS_URL."
        ),
    ] = "",
    step: Annotated[
        str, typer.Option(help="Rates and load are means of steps so long, e.g. 1h, 10m.")
    ] = "1h",
    full: Annotated[float, typer.Option(min=0.01, max=1, help="Load at which nothing more is served.")] = 1.0,
    coefficient: Coefficient = None,
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Print how many requests a service could serve, by CPU utilisation, which promises too much, and by APU beside it.

    Times in FILE are RFC 3339 with a zone or seconds since 1970; a heading is skipped. Match the machines of one service.
    `fleetprof report capacity '{cluster="search"}' --rates rates.csv` Ends with 3 where nothing can be said.
    """
    from services.api.analysis.capacity import capacity_document  # noqa: PLC0415
    from services.api.analysis.told import step_of  # noqa: PLC0415
    from services.commands.reports.request_rates import rate_source  # noqa: PLC0415
    from services.views.reports.capacity import capacity as view  # noqa: PLC0415
    from storage.query.models.capacity import MOST_STEPS, CapacityQuestion  # noqa: PLC0415
    from storage.query.shapes.steps import steps  # noqa: PLC0415

    source = rate_source(rates, prometheus, ("--rates", "--prometheus"))

    def make(queries: "StoreQueries", selection: "Selection") -> Json:
        length = step_of(step) or 3600
        means = source.means(selection, steps(selection, MOST_STEPS, length))
        question = CapacityQuestion(selection, means, length, full, coefficient)
        return capacity_document(question, queries.ask(question))

    report(Asked(select, since, until, campaign), {"step": step}, make, view, as_json=as_json)


def machine_types(  # noqa: PLR0917 - the command line is its signature
    old: Annotated[str, typer.Argument(help="A platform, as `fleetprof machines list` has it.")],
    new: Annotated[str, typer.Argument(help="Another one.")],
    select: OfMachines = "{}",
    old_price: Annotated[
        float, typer.Option(min=1e-9, max=1e12, help="Of a machine of the old type, in any currency.")
    ] = 1.0,
    new_price: Annotated[
        float, typer.Option(min=1e-9, max=1e12, help="Of one of the new, in the same.")
    ] = 1.0,
    old_rates: OldRates = None,
    new_rates: NewRates = None,
    old_prometheus: OldQuery = "",
    new_prometheus: NewQuery = "",
    step: Annotated[
        str, typer.Option(help="Rates and load are means of steps so long, e.g. 1h, 10m.")
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
    """Say whether a new machine type is worth its price, by CPU utilisation and by APU; where they disagree, test.

    With rates of a machine of each type, both are compared at the same load; FILE is as of `fleetprof report capacity`. Without
    rates match machines and a time at which both types get equal traffic, as behind a balancer that spreads it evenly.
    `fleetprof report machine-types Skylake Rome '{cluster="search"}' --new-price 1.33` Ends with 3 where nothing can be said.
    """
    from services.api.analysis.machine_types import machine_types_document  # noqa: PLC0415
    from services.api.analysis.told import step_of  # noqa: PLC0415
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

    def make(queries: "StoreQueries", selection: "Selection") -> Json:
        length = step_of(step) or 3600
        rates = None
        if sources:
            over = steps(selection, MOST_STEPS, length)
            of_old, of_new = (source.means(selection, over) for source in sources)
            rates = MachineRates(of_old, of_new, length, full)
        question = MachineTypesQuestion(selection, old, new, old_price, new_price, coefficient, rates)
        return machine_types_document(question, queries.ask(question))

    report(Asked(select, since, until, campaign), {"step": step}, make, view, as_json=as_json)
