"""`fleetprof report frequency`, `frequency-fit`, `frequency-times`: what another clock would cost."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.commands.asked import AsJson, Campaign, Since, Until
from services.commands.reports.frequency_options import FrequencyOptions, with_frequencies
from services.commands.reports.printing import NO_ANSWER, Asked, Json, OfMachines, Shown, report

if TYPE_CHECKING:
    from services.hottest import StoreQueries
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
            help="Of a miss, on platforms that were not calibrated; else they are left out.",
        ),
    ] = None,
    since: Since = "now-1d",
    until: Until = "now",
    campaign: Campaign = "fleet",
    rows: Shown = 20,
    as_json: AsJson = False,
) -> None:
    """Print how much longer each application would take at lower frequencies, and the lowest that keeps a performance.

    Time that waits for memory does not grow. Needs misses of the last cache beside CPU time, and the latency of a miss; where
    machines run at several frequencies, frequency-fit needs neither. With --memory-target-mhz the same for another memory.
    `fleetprof report frequency --mhz 2000,1600 --latency-ns 90` Ends with 3 where nothing can be said.
    """
    from services.api.analysis.frequency import frequency_document  # noqa: PLC0415
    from services.views.reports.frequency import frequency as view  # noqa: PLC0415
    from storage.query.models.frequency import FrequencyQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> Json:
        question = FrequencyQuestion(selection, frequencies.asked().wanted, latency_ns, rows)
        return frequency_document(selection, queries.ask(question))

    report(Asked(select, since, until, campaign), {"mhz": frequencies.mhz}, make, view, as_json=as_json)


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
    """Print how much longer each application would take at lower frequencies, from machines that run at several: A/f + B.

    Needs control groups to be counted (`fleetprof campaigns set … --cgroups 16`), and machines of one platform at frequencies a tenth apart,
    two machines at least at each; no misses, no latency. Beside it stands by how much the other frequencies fail to foretell each.
    `fleetprof report frequency-fit '{platform=~"AMD.*"}' --performance 0.95` Ends with 3 where nothing can be said.
    """
    from services.api.analysis.frequency_fit import frequency_fit_document  # noqa: PLC0415
    from services.views.reports.frequency_fit import frequency_fit as view  # noqa: PLC0415
    from storage.query.models.frequency_fit import FitQuestion  # noqa: PLC0415

    def make(queries: "StoreQueries", selection: "Selection") -> Json:
        question = FitQuestion(selection, frequencies.asked().wanted, rows)
        return frequency_fit_document(selection, queries.ask(question))

    report(Asked(select, since, until, campaign), {"mhz": frequencies.mhz}, make, view, as_json=as_json)


@with_frequencies
def frequency_times(
    frequencies: FrequencyOptions,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]", help="CSV of MHz and seconds, and the memory's MHz where that varies."
        ),
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MHZ:SECONDS", help="Or one run, 2400:10.1 or 2400:10.1:3200; may be given again."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print how much longer a run or a request would take at other frequencies, from times you measured at two or more: A/f + B.

    Asks no database. Time the same work at each frequency; of a server take CPU seconds per request. Repeat runs, or add a frequency: two
    times alone fit anything. A heading in FILE is skipped. Where the memory's frequency varies too, its effect is fitted: A/f + B + C/f_mem.
    `fleetprof report frequency-times --run 1200:18.3 --run 1800:12.9 --run 2400:10.1` Ends with 3 where nothing can be said.
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services.api.analysis.frequency_runs import runs_of  # noqa: PLC0415
    from services.api.analysis.frequency_times import frequency_times_document, times_asked  # noqa: PLC0415
    from services.commands.reports.timed_runs import read_runs  # noqa: PLC0415
    from services.pointing import Typed, pointing  # noqa: PLC0415
    from services.views.reports.frequency_times import frequency_times as view  # noqa: PLC0415

    if (file is None) is (not run):
        raise typer.BadParameter("Give a file or runs, one of the two.", param_hint="FILE, --run")
    text = ",".join(run or ())
    with pointing({"mhz": Typed("--mhz", frequencies.mhz), "runs": Typed("--run", text)}):
        runs = runs_of(text) if file is None else read_runs(file)
        answer = frequency_times_document(times_asked(runs, frequencies.asked()))
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        Console(highlight=False).print(view(answer))
    if answer["because"] is not None:
        raise typer.Exit(NO_ANSWER)
