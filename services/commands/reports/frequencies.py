"""`fleetprof report frequency`, `frequency-fit`, `frequency-times`: the cost of other CPU frequencies."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.command_line.selection_options import AsJson, Campaign, Since, Until
from services.commands.reports.frequency_options import FrequencyOptions, with_frequencies
from services.commands.reports.report_command import (
    NO_ANSWER,
    OfMachines,
    SelectionOptions,
    Shown,
    report,
)

if TYPE_CHECKING:
    from services.queries.local_queries import StoreQueries
    from storage.query.answers.frequency import FrequencyAnswer
    from storage.query.answers.frequency_fit import FrequencyFitAnswer
    from storage.query.selections.selection import Selection


@with_frequencies
def frequency(  # noqa: PLR0917 - the command line is its signature
    frequencies: FrequencyOptions,
    select: OfMachines = "{}",
    latency_ns: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=10_000,
            help="Latency of a miss on platforms without a calibration. Default: omit these platforms.",
        ),
    ] = None,
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Shown = 20,
    as_json: AsJson = False,
) -> None:
    """Print the slowdown of each application at lower frequencies, and the lowest frequency that keeps a given performance.

    In this model, time spent waiting for memory does not grow. The command needs misses of the last-level cache beside CPU
    time, and the latency of a miss. If machines run at several frequencies, frequency-fit needs neither.
    --memory-target-mhz predicts the effect of another memory frequency. The exit code is 3 if there is no result.

    Example: `fleetprof report frequency --mhz 2000,1600 --latency-ns 90`
    """
    from services.views.reports.frequency import frequency as view  # noqa: PLC0415 - a command imports what it runs
    from storage.query.models.frequency import FrequencyQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "FrequencyAnswer":
        wanted = frequencies.parameters().wanted
        return queries.ask(FrequencyQuestion(selection, wanted, latency_ns, rows))

    report(
        SelectionOptions(select, since, until, campaign),
        {"mhz": frequencies.mhz},
        make,
        view,
        as_json=as_json,
    )


@with_frequencies
def frequency_fit(  # noqa: PLR0917 - the command line is its signature
    frequencies: FrequencyOptions,
    select: OfMachines = "{}",
    since: Since = "now-7d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Shown = 20,
    as_json: AsJson = False,
) -> None:
    """Print the slowdown of each application at lower frequencies, fitted to machines that run at several: A/f + B.

    Needs counters of control groups (`fleetprof campaigns set … --cgroups 16`), and machines of one platform at frequencies
    a tenth apart, at least two machines at each. It needs no cache misses and no latency. The table also has the error of
    predicting each frequency from the others. The exit code is 3 if there is no result.

    Example: `fleetprof report frequency-fit '{platform=~"AMD.*"}' --performance 0.95`
    """
    from services.views.reports.frequency_fit import frequency_fit as view  # noqa: PLC0415
    from storage.query.models.frequency_fit import FitQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> "FrequencyFitAnswer":
        return queries.ask(FitQuestion(selection, frequencies.parameters().wanted, rows))

    report(
        SelectionOptions(select, since, until, campaign),
        {"mhz": frequencies.mhz},
        make,
        view,
        as_json=as_json,
    )


@with_frequencies
def frequency_times(
    frequencies: FrequencyOptions,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="CSV of MHz and seconds, and the memory's MHz if that varies."),
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MHZ:SECONDS",
            help="One run, e.g. 2400:10.1, or 2400:10.1:3200 with the memory's MHz; repeatable.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the slowdown of a run or a request at other frequencies, from times measured at two or more: A/f + B.

    Needs no database. Measure the same work at each frequency; for a server use CPU seconds per request. Repeat runs, or add a
    frequency: any two times fit the model exactly. A heading in FILE is skipped. If the memory's frequency varies too, its
    effect is fitted: A/f + B + C/f_mem. The exit code is 3 if there is no result.

    Example: `fleetprof report frequency-times --run 1200:18.3 --run 1800:12.9 --run 2400:10.1`
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services.api.analysis.frequency_runs import runs_of  # noqa: PLC0415
    from services.api.analysis.frequency_times import times_question  # noqa: PLC0415
    from services.command_line.caret_errors import Typed, caret_on_error  # noqa: PLC0415
    from services.commands.reports.timed_runs import read_runs  # noqa: PLC0415
    from services.views.reports.frequency_times import frequency_times as view  # noqa: PLC0415
    from storage.query.answers.answer import as_document  # noqa: PLC0415

    if (file is None) is (not run):
        raise typer.BadParameter("Give either FILE or --run.", param_hint="FILE, --run")
    text = ",".join(run or ())
    with caret_on_error({"mhz": Typed("--mhz", frequencies.mhz), "runs": Typed("--run", text)}):
        runs = runs_of(text) if file is None else read_runs(file)
        answer = times_question(runs, frequencies.parameters()).answer()
    if as_json:
        typer.echo(json.dumps(as_document(answer)))
    else:
        Console(highlight=False).print(view(answer))
    if answer.because is not None:
        raise typer.Exit(NO_ANSWER)
