"""`fleetprof report interference`, `placement`: slowdown of applications that share a chip, and a better placement."""

from typing import TYPE_CHECKING, Annotated

import typer

from services.command_line.selection_options import AsJson, Campaign, Since, Until
from services.commands.reports.report_command import (
    NO_ANSWER,
    OnlyMachines,
    SelectionOptions,
    Shown,
    report,
)

if TYPE_CHECKING:
    from services.queries.local_queries import StoreQueries
    from storage.query.answers.interference import InterferenceAnswer
    from storage.query.answers.placement import PlacementAnswer
    from storage.query.selections.selection import Selection

PeakGbs = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        max=100_000,
        help="Memory bandwidth of a chip in GB/s. Default: as calibrated, or the highest observed.",
    ),
]

Experiments = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=(
            "Uploaded experiments to train the model. Default: the fleet's visits; if they do not suffice, the "
            "newest experiments that suffice. The report names them."
        ),
    ),
]


def interference(  # noqa: PLR0917 - the command line is its signature
    target: Annotated[str, typer.Argument(help="Application.")],
    select: OnlyMachines = "{}",
    beside: Annotated[
        str,
        typer.Option(
            help=(
                "Mix to predict: neighbours and the cores that each keeps busy, e.g. feed:4,etl:1.5. Default cores: 1; "
                "with experiments, the cores of the neighbour's run alone."
            )
        ),
    ] = "",
    cores: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=10_000, help="Cores that the target keeps busy in the mix. Default: its average."
        ),
    ] = None,
    platform: Annotated[
        str,
        typer.Option(
            help="Platform of the chips. Default: the one with most visits, or runs, of the target."
        ),
    ] = "",
    peak_gbs: PeakGbs = None,
    experiments: Experiments = "",
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Shown = 20,
    as_json: AsJson = False,
) -> None:
    """Print the slowdown of an application by the pressure of all programs on its chip, and in a mix if one is given.

    The model is trained with visits to machines with one socket, or with experiments (`fleetprof experiments add`). The
    application must run alone in some of the visits. The model's error is printed beside that of the mean of the training
    mixes, which ignores pressure. The exit code is 3 if there is no result for the application, or for the mix.

    Example: `fleetprof report interference checkout --beside feed:4,etl:1.5`
    """
    from services.api.analysis.named_numbers import named_numbers  # noqa: PLC0415
    from services.views.reports.interference import interference as view  # noqa: PLC0415
    from storage.query.models.interference import TargetQuestion  # noqa: PLC0415

    if cores is not None and not beside:
        raise typer.BadParameter("--cores applies to a mix: add --beside.", param_hint="--cores")

    def make(queries: "StoreQueries", selection: "Selection") -> "InterferenceAnswer":
        mix = tuple(named_numbers(beside, "beside"))
        question = TargetQuestion(selection, target, platform, mix, cores, peak_gbs, experiments)
        return queries.ask(question)

    selection_options = SelectionOptions(select, since, until, campaign)
    answer = report(
        selection_options,
        {"target": target, "beside": beside, "experiments": experiments},
        make,
        lambda found: view(found, beside=beside, rows=rows),
        as_json=as_json,
    )
    if answer.mix is not None and answer.mix.because is not None:
        raise typer.Exit(NO_ANSWER)


def placement(  # noqa: PLR0917 - the command line is its signature
    tenants: Annotated[
        str,
        typer.Argument(
            help=(
                "Programs, comma-separated, each with an optional limit of its slowdown: checkout:0.1,feed,feed. An "
                "application given twice is two programs."
            )
        ),
    ],
    machines: Annotated[int, typer.Option(min=1, max=200, help="Number of machines, all equal.")],
    select: OnlyMachines = "{}",
    slots: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of programs on a machine.")] = 2,
    platform: Annotated[
        str, typer.Option(help="Platform of the machines. Default: the one with most visits, or runs.")
    ] = "",
    peak_gbs: PeakGbs = None,
    experiments: Experiments = "",
    cautious: Annotated[
        bool, typer.Option(help="Compare limits with the upper end of a prediction's interval.")
    ] = False,
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    as_json: AsJson = False,
) -> None:
    """Print which programs should share a machine so that no slowdown exceeds its limit.

    The command searches for the best placement by the models of `fleetprof report interference`; it moves nothing.
    The exit code is 3 if there is no result.

    Example: `fleetprof report placement checkout:0.1,feed,feed,etl --machines 2`
    """
    from services.api.analysis.named_numbers import named_numbers  # noqa: PLC0415
    from services.views.reports.placement import placement as view  # noqa: PLC0415
    from storage.query.models.placement import PlacementQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "PlacementAnswer":
        programs = tuple(named_numbers(tenants, "tenants"))
        question = PlacementQuestion(
            selection, programs, machines, slots, platform, peak_gbs, cautious, experiments
        )
        return queries.ask(question)

    typed = {"tenants": tenants, "experiments": experiments}
    report(SelectionOptions(select, since, until, campaign), typed, make, view, as_json=as_json)
