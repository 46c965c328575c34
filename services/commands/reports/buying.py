"""`fleetprof report capacity`, `machine-types`: how much is left, and what to buy."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.commands.asked import AsJson, Campaign, Since, Until
from services.commands.reports.printing import Asked, Json, OfMachines, report
from services.settings import read_settings

if TYPE_CHECKING:
    from services.hottest import Queries
    from storage.query.selections.selection import Selection

Coefficient = Annotated[
    float | None,
    typer.Option(min=1, max=10, help="Overlap coefficient of platforms that were not calibrated."),
]


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
    from services.commands.reports.request_rates import means_of, read_rates  # noqa: PLC0415
    from services.prometheus import request_rates  # noqa: PLC0415
    from services.views.reports.capacity import capacity as view  # noqa: PLC0415
    from storage.query.models.capacity import MOST_STEPS, CapacityQuestion  # noqa: PLC0415
    from storage.query.shapes.steps import Steps, steps  # noqa: PLC0415

    if (rates is None) is (not prometheus):
        raise typer.BadParameter(
            "Give a file or a query, one of the two.", param_hint="--rates, --prometheus"
        )
    server = read_settings().prometheus_url
    if prometheus and server is None:
        raise typer.BadParameter("Set FLEETPROF_PROMETHEUS_URL to ask it.", param_hint="--prometheus")

    def mean_rates(selection: "Selection", over: Steps) -> tuple[float | None, ...]:
        if rates is not None:
            return read_rates(rates, over)
        assert server is not None, "checked above"
        times = selection.start.timestamp(), selection.end.timestamp()
        return means_of(request_rates(server, prometheus, *times, over.step_s), over)

    def make(queries: "Queries", selection: "Selection") -> Json:
        length = step_of(step) or 3600
        means = mean_rates(selection, steps(selection, MOST_STEPS, length))
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
    coefficient: Coefficient = None,
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Say whether a new machine type is worth its price, by CPU utilisation and by APU; where they disagree, test.

    Match machines and a time at which both types get equal traffic, as behind a balancer that spreads it evenly.
    `fleetprof report machine-types Skylake Rome '{cluster="search"}' --new-price 1.33` Ends with 3 where nothing can be said.
    """
    from services.api.analysis.machine_types import machine_types_document  # noqa: PLC0415
    from services.views.reports.machine_types import machine_types as view  # noqa: PLC0415
    from storage.query.models.machine_types import MachineTypesQuestion  # noqa: PLC0415

    def make(queries: "Queries", selection: "Selection") -> Json:
        question = MachineTypesQuestion(selection, old, new, old_price, new_price, coefficient)
        return machine_types_document(question, queries.ask(question))

    report(Asked(select, since, until, campaign), {}, make, view, as_json=as_json)
