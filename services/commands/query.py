"""`fleetprof query`: the function table of the web UI, in the terminal."""

from typing import Annotated, Any

import typer

from services.configuration.settings import read_settings
from services.queries.engine_choice import EngineChoice
from services.views.measures import Measure


def _pattern(what: str) -> Any:
    return typer.Option(metavar="REGEX", help=f"{what} RE2, unanchored, on function, file or binary.")


def query(  # noqa: PLR0917 - the command line is its signature
    select: Annotated[
        str,
        typer.Argument(
            help=(
                'Matchers on labels, e.g. \'{application="nginx",platform=~"AMD.*"}\', and on frames: function=, '
                "file=, binary= of any frame, self.function= … of the innermost frame."
            )
        ),
    ] = "{}",
    event: Annotated[str, typer.Option(help="Event, e.g. cpu or page-faults.")] = "cpu",
    since: Annotated[str, typer.Option("--from", help="Start: RFC 3339, or now-15m, now-1d …")] = "now-1h",
    until: Annotated[str, typer.Option("--to", help="End, in the same form.")] = "now",
    campaign: Annotated[str, typer.Option(help="Campaign.")] = "fleet",
    focus: Annotated[str, _pattern("Only stacks with a matching frame.")] = "",
    ignore: Annotated[str, _pattern("Only stacks without a matching frame.")] = "",
    hide: Annotated[str, _pattern("Remove matching frames from stacks.")] = "",
    show: Annotated[str, _pattern("Remove frames that do not match from stacks.")] = "",
    show_from: Annotated[
        str, _pattern("Remove the frames above the outermost matching frame, and stacks without one.")
    ] = "",
    by: Annotated[
        str,
        typer.Option(
            help=(
                "Keys of the rows: function, file, line, binary and any labels, e.g. application,version or "
                "function,line."
            )
        ),
    ] = "function",
    measure: Annotated[
        Measure,
        typer.Option(
            metavar="MEASURE",
            help=(
                "Unit: share, samples, core-seconds, cores, machines (the number of fully used machines; only for the "
                "whole fleet, without matchers) or money (at the prices of the platforms, or FLEETPROF_PRICE_PER_CORE_HOUR)."
            ),
        ),
    ] = Measure.SHARE,
    base: Annotated[
        str | None,
        typer.Option(
            "--diff",
            metavar="SELECT",
            help="Compare with this selection, e.g. '{version=\"1.2\"}', and print significant differences.",
        ),
    ] = None,
    base_since: Annotated[
        str | None,
        typer.Option(
            "--diff-from",
            metavar="FROM",
            help=(
                "Start of the other selection; default: --from. The same hour yesterday: --diff-from now-25h "
                "--diff-to now-24h."
            ),
        ),
    ] = None,
    base_until: Annotated[
        str | None, typer.Option("--diff-to", metavar="TO", help="End of the other selection; default: --to.")
    ] = None,
    trust: Annotated[
        bool,
        typer.Option(
            "--reliability", help="Print how reliable the profile is, and how many visits would be enough."
        ),
    ] = False,
    rows: Annotated[int, typer.Option(min=1, max=10_000, metavar="ROWS", help="Rows to print.")] = 30,
    engine: Annotated[
        EngineChoice,
        typer.Option(
            help=(
                "Query backend: postgres, or duckdb for the lake at FLEETPROF_LAKE_URL, which keeps closed days "
                "longer."
            )
        ),
    ] = EngineChoice.POSTGRES,
    as_json: Annotated[bool, typer.Option("--json", help="Print the API's JSON.")] = False,
) -> None:
    """Print the top functions of a selection, or a table by other keys.

    Numbers are estimates for the whole fleet with 95 % confidence intervals. --diff, --diff-from and --diff-to compare the
    self shares of two selections; an omitted option is the same for both. Uses FLEETPROF_DATABASE_URL, or the
    `fleetprof up` that runs here. --engine duckdb needs only FLEETPROF_LAKE_URL and gives the same numbers, for days
    that ended at least 48 hours ago.
    """
    import json  # noqa: PLC0415 - a command imports what it runs

    from rich.console import Console  # noqa: PLC0415

    from services.api.parameters import keys_of  # noqa: PLC0415
    from services.command_line.caret_errors import Typed, caret_on_error  # noqa: PLC0415
    from services.queries import local_queries  # noqa: PLC0415
    from services.queries.query_backend import LakeBackend, open_backend  # noqa: PLC0415
    from services.views import terminal  # noqa: PLC0415
    from storage.query.answers.answer import as_document  # noqa: PLC0415
    from storage.query.selections.selection import parse_selection  # noqa: PLC0415
    from storage.query.shapes.cost import CostQuestion  # noqa: PLC0415
    from storage.query.shapes.diff import MOST_ROWS  # noqa: PLC0415

    settings = read_settings()
    in_money = measure is Measure.MONEY
    compares = not (base is base_since is base_until is None)
    if compares and trust:
        raise typer.BadParameter(
            "--reliability does not apply to a comparison: remove it, or the --diff options.",
            param_hint="--reliability",
        )
    if measure is not Measure.SHARE and (compares or trust):
        raise typer.BadParameter(
            "--measure does not apply to --diff and --reliability, which print shares: remove it.",
            param_hint="--measure",
        )
    selection_options: dict[str, Any] = {"event": event, "campaign": campaign}
    selection_options |= {
        "focus": focus,
        "ignore": ignore,
        "hide": hide,
        "show": show,
        "show_from": show_from,
    }
    first: dict[str, Any] = {"start": since, "end": until, "select": select}
    second: dict[str, Any] = {
        "start": base_since or since,
        "end": base_until or until,
        "select": select if base is None else base,
    }
    typed = {"select": Typed("SELECT", select), "from": Typed("--from", since), "to": Typed("--to", until)}
    typed |= {"base_select": Typed("--diff", second["select"]), "by": Typed("--by", by)}
    typed |= {name: Typed(f"--{name.replace('_', '-')}", text) for name, text in selection_options.items()}
    with caret_on_error(typed):
        keys = keys_of(by)
        selection = parse_selection(**first, **selection_options)
        if measure is Measure.MACHINES and selection.matchers:
            raise typer.BadParameter(
                (
                    "The number of machines is known only for the whole fleet: use --measure cores, or remove the "
                    "matchers."
                ),
                param_hint="--measure",
            )
        other = parse_selection(**second, **selection_options, prefix="base_") if compares else selection
        with open_backend(settings, engine) as queries:
            if compares:
                answer: Any = local_queries.diff(queries, selection, other, keys, min(rows, MOST_ROWS))
            elif trust:
                answer = local_queries.reliability(queries, selection, keys)
            else:
                answer = local_queries.table(queries, selection, keys, rows)
            cost = queries.ask(CostQuestion(selection, settings.price_per_core_hour)) if in_money else None
    if cost is not None and cost.price_per_core_hour is None:
        raise typer.BadParameter(f"No platform has a price. {terminal.SET_PRICES}", param_hint="--measure")
    if isinstance(queries, LakeBackend):
        typer.echo(queries.remark, err=True)
    if as_json:
        lake = {"lake": queries.document} if isinstance(queries, LakeBackend) else {}
        typer.echo(json.dumps(as_document(answer) | lake))
        return
    console = Console(highlight=False)
    console.print(
        terminal.sides(answer) if compares else terminal.totals_line(answer),
        soft_wrap=True,
    )
    if compares:
        console.print(terminal.differences(answer, rows=rows))
    elif trust:
        console.print(terminal.trust(answer))
    else:
        console.print(terminal.top_table(answer, rows=rows, measure=measure, cost=cost))
        if cost is not None:
            console.print(terminal.prices(cost), soft_wrap=True)
