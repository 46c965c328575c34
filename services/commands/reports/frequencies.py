"""`fleetprof report frequency`, `frequency-fit`, `frequency-times`: what another clock would cost."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.commands.asked import AsJson, Campaign, Since, Until
from services.commands.reports.printing import NO_ANSWER, Asked, Json, OfMachines, Shown, report

if TYPE_CHECKING:
    from services.hottest import Queries
    from storage.query.selections.selection import Selection

Mhz = Annotated[str, typer.Option(help="Frequencies, comma-separated; empty: from the base to half of it.")]
Performance = Annotated[
    float, typer.Option(min=0.01, max=1, help="Part of that at the base frequency that must be kept.")
]
MemoryMhz = Annotated[
    float | None,
    typer.Option(min=1, max=100_000, help="Frequency of the memory while all this was measured."),
]
MemoryTarget = Annotated[
    float | None,
    typer.Option(
        min=1, max=100_000, help="Foretell for a memory of this frequency too, beside --memory-mhz."
    ),
]
MemoryPart = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="Of the time that waits, what goes with the memory's clock; 1 is the most that latency can change.",
    ),
]


def frequency(  # noqa: PLR0917 - the command line is its signature
    select: OfMachines = "{}",
    mhz: Mhz = "",
    base_mhz: Annotated[
        float | None,
        typer.Option(min=1, max=100_000, help="What slowdowns are against; else the mean of the busy CPUs."),
    ] = None,
    performance: Performance = 0.9,
    latency_ns: Annotated[
        float | None,
        typer.Option(
            min=1,
            max=10_000,
            help="Of a miss, on platforms that were not calibrated; else they are left out.",
        ),
    ] = None,
    memory_mhz: MemoryMhz = None,
    memory_target_mhz: MemoryTarget = None,
    memory_part: MemoryPart = 1.0,
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
    from services.api.analysis.frequency_told import wanted_of  # noqa: PLC0415
    from services.views.reports.frequency import frequency as view  # noqa: PLC0415
    from storage.query.models.frequency import FrequencyQuestion  # noqa: PLC0415

    def make(queries: "Queries", selection: "Selection") -> Json:
        wanted = wanted_of(base_mhz, mhz, performance, memory_mhz, memory_target_mhz, memory_part)
        question = FrequencyQuestion(selection, wanted, latency_ns, rows)
        return frequency_document(selection, queries.ask(question))

    report(Asked(select, since, until, campaign), {"mhz": mhz}, make, view, as_json=as_json)


def frequency_fit(  # noqa: PLR0917 - the command line is its signature
    select: OfMachines = "{}",
    mhz: Mhz = "",
    base_mhz: Annotated[
        float | None,
        typer.Option(min=1, max=100_000, help="What slowdowns are against; else each row's mean frequency."),
    ] = None,
    performance: Performance = 0.9,
    memory_mhz: MemoryMhz = None,
    memory_target_mhz: MemoryTarget = None,
    memory_part: MemoryPart = 1.0,
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
    from services.api.analysis.frequency_told import wanted_of  # noqa: PLC0415
    from services.views.reports.frequency_fit import frequency_fit as view  # noqa: PLC0415
    from storage.query.models.frequency_fit import FitQuestion  # noqa: PLC0415

    def make(queries: "Queries", selection: "Selection") -> Json:
        wanted = wanted_of(base_mhz, mhz, performance, memory_mhz, memory_target_mhz, memory_part)
        return frequency_fit_document(selection, queries.ask(FitQuestion(selection, wanted, rows)))

    report(Asked(select, since, until, campaign), {"mhz": mhz}, make, view, as_json=as_json)


def frequency_times(  # noqa: PLR0917 - the command line is its signature
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
    mhz: Mhz = "",
    base_mhz: Annotated[
        float | None,
        typer.Option(min=1, max=100_000, help="What slowdowns are against; else the highest frequency."),
    ] = None,
    performance: Performance = 0.9,
    memory_mhz: MemoryMhz = None,
    memory_target_mhz: MemoryTarget = None,
    memory_part: MemoryPart = 1.0,
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
    from services.api.analysis.frequency_times import TimesAsked, frequency_times_document  # noqa: PLC0415
    from services.api.analysis.frequency_told import frequencies_of  # noqa: PLC0415
    from services.commands.reports.timed_runs import read_runs  # noqa: PLC0415
    from services.pointing import Typed, pointing  # noqa: PLC0415
    from services.views.reports.frequency_times import frequency_times as view  # noqa: PLC0415
    from storage.query.models.frequency_asked import Wanted  # noqa: PLC0415

    if (file is None) is (not run):
        raise typer.BadParameter("Give a file or runs, one of the two.", param_hint="FILE, --run")
    text = ",".join(run or ())
    with pointing({"mhz": Typed("--mhz", mhz), "runs": Typed("--run", text)}):
        runs = runs_of(text) if file is None else read_runs(file)
        wanted = Wanted(base_mhz, frequencies_of(mhz), performance)
        answer = frequency_times_document(
            TimesAsked(runs, wanted, memory_mhz, memory_target_mhz, memory_part)
        )
    if as_json:
        typer.echo(json.dumps(answer))
    else:
        Console(highlight=False).print(view(answer))
    if answer["because"] is not None:
        raise typer.Exit(NO_ANSWER)
