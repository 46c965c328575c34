"""`fleetprof report interference`, `placement`: how applications of one chip slow each other down, and who should share one."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.commands.asked import AsJson, Campaign, Since, Until
from services.commands.reports.printing import NO_ANSWER, Asked, Json, OnlyMachines, Shown, report

if TYPE_CHECKING:
    from services.hottest import StoreQueries
    from storage.query.selections.selection import Selection

PeakGbs = Annotated[
    float | None,
    typer.Option(min=0.1, max=100_000, help="GB/s of a chip's memory; else as calibrated, or the most seen."),
]

Experiments = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="The uploaded experiments that are to train it; empty: the fleet's visits, and where these cannot say the "
        "newest experiments that can, which the report tells.",
    ),
]


def interference(  # noqa: PLR0917 - the command line is its signature
    target: Annotated[str, typer.Argument(help="The application whose slowdown is wanted.")],
    select: OnlyMachines = "{}",
    beside: Annotated[
        str,
        typer.Option(
            help="A mix to predict: neighbours and the cores each keeps busy, feed:4,etl:1.5; where none is given 1, or by experiments "
            "as many as in its run alone."
        ),
    ] = "",
    cores: Annotated[
        float | None,
        typer.Option(min=0.001, max=10_000, help="That the target keeps busy in the mix; else its average."),
    ] = None,
    platform: Annotated[
        str, typer.Option(help="Whose chips; empty: the platform with most visits, or runs, of the target.")
    ] = "",
    peak_gbs: PeakGbs = None,
    experiments: Experiments = "",
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Shown = 20,
    as_json: AsJson = False,
) -> None:
    """Print how much slower an application runs by the pressure of all on its chip, and in a mix if one is named.

    Visits of machines of one socket train it; in some an application must have the machine to itself. Or experiments do
    (`fleetprof experiments add`). The mean of the training mixes, which knows nothing of pressure, stands beside it.
    `fleetprof report interference checkout --beside feed:4,etl:1.5`
    Ends with 3 where nothing can be said of the application, or of the mix.
    """
    from services.api.analysis.interference import interference_document, named_numbers  # noqa: PLC0415
    from services.views.reports.interference import interference as view  # noqa: PLC0415
    from storage.query.models.interference import TargetQuestion  # noqa: PLC0415

    if cores is not None and not beside:
        raise typer.BadParameter("It is of a mix: name one with --beside.", param_hint="--cores")

    def make(queries: "StoreQueries", selection: "Selection") -> Json:
        mix = tuple(named_numbers(beside, "beside"))
        question = TargetQuestion(selection, target, platform, mix, cores, peak_gbs, experiments)
        return interference_document(selection, queries.ask(question))

    asked = Asked(select, since, until, campaign)
    answer = report(
        asked,
        {"target": target, "beside": beside, "experiments": experiments},
        make,
        lambda found: view(found, beside=beside, rows=rows),
        as_json=as_json,
    )
    if answer["mix"] is not None and answer["mix"]["because"] is not None:
        raise typer.Exit(NO_ANSWER)


def placement(  # noqa: PLR0917 - the command line is its signature
    tenants: Annotated[
        str,
        typer.Argument(
            help="Programs, comma-separated, each with the slowdown it may suffer if not any: checkout:0.1,feed,feed. "
            "An application named twice is two programs."
        ),
    ],
    machines: Annotated[int, typer.Option(min=1, max=200, help="How many there are, all equal.")],
    select: OnlyMachines = "{}",
    slots: Annotated[int, typer.Option(min=1, max=200, help="Programs that a machine may hold.")] = 2,
    platform: Annotated[
        str, typer.Option(help="Of the machines; empty: the one with most visits, or runs.")
    ] = "",
    peak_gbs: PeakGbs = None,
    experiments: Experiments = "",
    cautious: Annotated[
        bool, typer.Option(help="Hold limits by the upper end of a prediction's interval.")
    ] = False,
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Print which programs should share a machine so that none is slowed down more than it may be.

    Nothing is moved: it is the best placement a search found, by what `fleetprof report interference` says of each application.
    `fleetprof report placement checkout:0.1,feed,feed,etl --machines 2` Ends with 3 where nothing can be said.
    """
    from services.api.analysis.interference import named_numbers  # noqa: PLC0415
    from services.api.analysis.placement_advice import placement_document  # noqa: PLC0415
    from services.views.reports.placement import placement as view  # noqa: PLC0415
    from storage.query.models.placement import PlacementQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> Json:
        programs = tuple(named_numbers(tenants, "tenants"))
        question = PlacementQuestion(
            selection, programs, machines, slots, platform, peak_gbs, cautious, experiments
        )
        return placement_document(selection, queries.ask(question))

    typed = {"tenants": tenants, "experiments": experiments}
    report(Asked(select, since, until, campaign), typed, make, view, as_json=as_json)
