"""`fleetprof query`: the table of the web UI, in the terminal."""

from typing import Annotated, Any

import typer

from services.engines import By
from services.measures import Measure
from services.settings import read_settings


def _pattern(what: str) -> Any:
    return typer.Option(metavar="REGEX", help=f"{what} RE2, somewhere in its function, file or binary.")


def query(  # noqa: PLR0917 - the command line is its signature
    select: Annotated[
        str,
        typer.Argument(
            help='Matchers on labels, e.g. \'{application="nginx",platform=~"AMD.*"}\', and on frames: function=, file=, '
            "binary= of any, self.function= … of the innermost."
        ),
    ] = "{}",
    event: Annotated[str, typer.Option(help="What was sampled.")] = "cpu",
    since: Annotated[str, typer.Option("--from", help="Start: RFC 3339, or now-15m, now-1d …")] = "now-1h",
    until: Annotated[str, typer.Option("--to", help="End, likewise.")] = "now",
    campaign: Annotated[str, typer.Option(help="Whose visits.")] = "fleet",
    focus: Annotated[str, _pattern("Only stacks with a frame that matches.")] = "",
    ignore: Annotated[str, _pattern("No stacks with a frame that matches.")] = "",
    hide: Annotated[str, _pattern("Take frames that match out of their stacks.")] = "",
    show: Annotated[str, _pattern("Take frames that do not match out of their stacks.")] = "",
    show_from: Annotated[
        str, _pattern("Take away what is above the outermost frame that matches, and stacks without one.")
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            help="What rows go by: any of function, file, line and binary, and any labels, e.g. application,version or "
            "function,line."
        ),
    ] = "function",
    measure: Annotated[
        Measure,
        typer.Option(
            metavar="MEASURE",
            help="Units of the table: share, samples, core-seconds, cores, machines (so many would do nothing "
            "else; of the whole fleet only, without matchers) or money (at FLEETPROF_PRICE_PER_CORE_HOUR).",
        ),
    ] = Measure.SHARE,
    base: Annotated[
        str | None,
        typer.Option(
            "--diff",
            metavar="SELECT",
            help="Compare with these matchers, e.g. '{version=\"1.2\"}': which rows changed by more than chance.",
        ),
    ] = None,
    base_since: Annotated[
        str | None,
        typer.Option(
            "--diff-from",
            metavar="FROM",
            help="Compare with this start; else --from. The hour of yesterday: --diff-from now-25h --diff-to now-24h.",
        ),
    ] = None,
    base_until: Annotated[
        str | None, typer.Option("--diff-to", metavar="TO", help="Compare with this end; else --to.")
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--reliability", help="Say how far the profile can be trusted, and how many visits would do."
        ),
    ] = False,
    rows: Annotated[int, typer.Option(min=1, max=10_000, metavar="ROWS", help="Rows to print.")] = 30,
    engine: Annotated[
        By,
        typer.Option(
            help="Who answers: postgres, or duckdb out of the lake at FLEETPROF_LAKE_URL, which keeps closed days longer."
        ),
    ] = By.POSTGRES,
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's answer as JSON.")] = False,
) -> None:
    """Print the hottest functions of a selection, or of what else rows go by.

    Numbers are estimates for the whole fleet, with the interval that holds the truth 95 times of 100.
    With --diff, --diff-from or --diff-to the self shares of two selections are compared; what is not
    given is as in the first. Uses FLEETPROF_DATABASE_URL, or the `fleetprof up` that runs here; with --engine
    duckdb FLEETPROF_LAKE_URL alone: the same numbers, of days that are over for 48 hours.
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services import hottest, terminal  # noqa: PLC0415
    from services.answering import FromLake, answering  # noqa: PLC0415
    from services.api.parameters import keys_of  # noqa: PLC0415
    from services.pointing import Typed, pointing  # noqa: PLC0415
    from storage.query.selections.selection import parse_selection  # noqa: PLC0415
    from storage.query.shapes.diff import MOST_ROWS  # noqa: PLC0415

    settings = read_settings()
    price = settings.price_per_core_hour
    if measure is Measure.MONEY and price is None:
        raise typer.BadParameter("Set FLEETPROF_PRICE_PER_CORE_HOUR to see money.", param_hint="--measure")
    compares = not (base is base_since is base_until is None)
    if compares and trust:
        raise typer.BadParameter("Compare, or ask for reliability; not both.", param_hint="--reliability")
    if measure is not Measure.SHARE and (compares or trust):
        raise typer.BadParameter(
            "Differences and reliability are those of shares. Leave it out.", param_hint="--measure"
        )
    asked: dict[str, Any] = {"event": event, "campaign": campaign}
    asked |= {"focus": focus, "ignore": ignore, "hide": hide, "show": show, "show_from": show_from}
    first: dict[str, Any] = {"start": since, "end": until, "select": select}
    second: dict[str, Any] = {
        "start": base_since or since,
        "end": base_until or until,
        "select": select if base is None else base,
    }
    typed = {"select": Typed("SELECT", select), "from": Typed("--from", since), "to": Typed("--to", until)}
    typed |= {"base_select": Typed("--diff", second["select"]), "by": Typed("--by", by)}
    typed |= {name: Typed(f"--{name.replace('_', '-')}", text) for name, text in asked.items()}
    with pointing(typed):
        keys = keys_of(by)
        selection = parse_selection(**first, **asked)
        if measure is Measure.MACHINES and selection.matchers:
            raise typer.BadParameter(
                "Nobody has counted the machines of a part of the fleet. Ask for cores, or leave the matchers out.",
                param_hint="--measure",
            )
        other = parse_selection(**second, **asked, prefix="base_") if compares else selection
        with answering(settings, engine) as queries:
            if compares:
                answer = hottest.diff(queries, selection, other, keys, min(rows, MOST_ROWS))
            elif trust:
                answer = hottest.reliability(queries, selection, keys)
            else:
                answer = hottest.table(queries, selection, keys, rows)
        if isinstance(queries, FromLake):
            answer["lake"] = queries.document
    if isinstance(queries, FromLake):
        typer.echo(queries.remark, err=True)
    if as_json:
        typer.echo(json.dumps(answer))
        return
    console = Console(highlight=False)
    console.print(terminal.sides(answer) if compares else terminal.totals_line(answer), soft_wrap=True)
    if compares:
        console.print(terminal.differences(answer, rows=rows))
    elif trust:
        console.print(terminal.trust(answer))
    else:
        console.print(terminal.hottest(answer, rows=rows, measure=measure, price_per_core_hour=price))
