"""`fleetprof export`: write a selection to a file for other programs."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from services.configuration.settings import read_settings
from services.queries.engine_choice import EngineChoice


class Format(StrEnum):
    """Format of the file."""

    PPROF = "pprof"
    COLLAPSED = "collapsed"
    SPEEDSCOPE = "speedscope"
    ARROW = "arrow"
    CSV = "csv"
    JSON = "json"


class Counted(StrEnum):
    """Unit of collapsed stacks and speedscope files."""

    ESTIMATE = "estimate"
    OBSERVED = "observed"
    SAMPLES = "samples"


_BINARY = {Format.PPROF, Format.ARROW}
_OF_STACKS = {Format.PPROF, Format.COLLAPSED, Format.SPEEDSCOPE}
_ENDINGS = {
    ".speedscope.json": Format.SPEEDSCOPE,
    ".pb.gz": Format.PPROF,
    ".pprof": Format.PPROF,
    ".collapsed": Format.COLLAPSED,
    ".collapsed.txt": Format.COLLAPSED,
    ".folded": Format.COLLAPSED,
    ".arrow": Format.ARROW,
    ".arrows": Format.ARROW,
    ".csv": Format.CSV,
    ".json": Format.JSON,
}


def _pattern(what: str) -> Any:
    return typer.Option(metavar="REGEX", help=f"{what} RE2, unanchored, on function, file or binary.")


def export(  # noqa: PLR0917 - the command line is its signature
    select: Annotated[
        str,
        typer.Argument(
            help="Matchers on labels and frames, as in `fleetprof query`, e.g. '{application=\"nginx\"}'."
        ),
    ] = "{}",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Output file; - is standard output.", show_default="-")
    ] = Path("-"),
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=(
                "pprof, collapsed, speedscope, arrow, csv or json. Default: by the file's suffix (.pb.gz, "
                ".collapsed, .speedscope.json, .arrow, .csv, .json), else pprof."
            ),
        ),
    ] = None,
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
    labels: Annotated[
        str,
        typer.Option(
            help=(
                "Labels that split the stacks, e.g. application,version. They become labels of pprof's samples, or root "
                "frames of collapsed stacks."
            )
        ),
    ] = "",
    value: Annotated[
        Counted,
        typer.Option(
            metavar="VALUE",
            help=(
                "Unit of collapsed stacks and speedscope files: estimate (estimated units of the fleet), observed "
                "(observed units) or samples. A pprof profile contains all three."
            ),
        ),
    ] = Counted.ESTIMATE,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of stacks or rows, heaviest first. Default: all stacks, 10000 rows."
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            help="For arrow, csv and json: rows by these keys, as in `fleetprof query`, instead of stacks."
        ),
    ] = "",
    engine: Annotated[
        EngineChoice, typer.Option(help="Query backend, as in `fleetprof query`.")
    ] = EngineChoice.POSTGRES,
) -> None:
    """Write a selection's stacks, or its table, for another program.

    pprof profiles open in `go tool pprof`, collapsed stacks in flamegraph.pl, speedscope files at speedscope.app;
    arrow, csv and json have the same columns as the API. A file is written completely before it replaces an older one.
    Uses FLEETPROF_DATABASE_URL, or the `fleetprof up` that runs here.
    """
    import sys  # noqa: PLC0415 - a command imports what it runs

    from services.api.formats.stack_profile import Value  # noqa: PLC0415
    from services.api.parameters import keys_of  # noqa: PLC0415
    from services.api.profiles.stacks import StacksRequest  # noqa: PLC0415
    from services.command_line import output_file  # noqa: PLC0415
    from services.command_line.caret_errors import Typed, caret_on_error  # noqa: PLC0415
    from services.queries import local_exports  # noqa: PLC0415
    from services.queries.query_backend import LakeBackend, open_backend  # noqa: PLC0415
    from storage.query.selections.selection import parse_selection  # noqa: PLC0415

    form = format_ or _of_ending(output.name)
    to_stdout = output == output_file.STANDARD_OUTPUT
    if form in _BINARY and to_stdout and sys.stdout.isatty():
        raise typer.BadParameter(
            f"{form} is a binary format and cannot be written to a terminal. Give a file, or pipe the output.",
            param_hint="--output",
        )
    if by and form in _OF_STACKS:
        raise typer.BadParameter(
            f"{form} contains stacks, not rows: remove --by, or use --format arrow, csv or json.",
            param_hint="--by",
        )
    if output.is_dir():
        raise typer.BadParameter(f"{output} is a folder: give a file.", param_hint="--output")
    selection_options: dict[str, Any] = {"event": event, "campaign": campaign}
    selection_options |= {
        "focus": focus,
        "ignore": ignore,
        "hide": hide,
        "show": show,
        "show_from": show_from,
    }
    typed = {"select": Typed("SELECT", select), "from": Typed("--from", since), "to": Typed("--to", until)}
    typed |= {"labels": Typed("--labels", labels), "by": Typed("--by", by)}
    typed |= {name: Typed(f"--{name.replace('_', '-')}", text) for name, text in selection_options.items()}
    with caret_on_error(typed), local_exports.progress() as shown:
        selection = parse_selection(start=since, end=until, select=select, **selection_options)
        with open_backend(read_settings(), engine) as queries:
            content: bytes | Iterator[bytes]
            if by:
                content = local_exports.table(queries, selection, keys_of(by), form.value, limit)
            else:
                names = keys_of(labels) if labels.strip() else ()
                stacks = StacksRequest(queries.ask, selection, names, limit, Value(value.value))
                content = local_exports.stacks(stacks, form.value)
        # The connection is released: only writing remains.
        size = output_file.write([content] if isinstance(content, bytes) else content, output, shown)
    if isinstance(queries, LakeBackend):
        typer.echo(queries.remark, err=True)
    if not to_stdout:
        typer.echo(f"{output}: {size:,} bytes", err=True)


def _of_ending(name: str) -> Format:
    for ending, form in _ENDINGS.items():  # of endings with a common suffix, the longest comes first
        if name.endswith(ending):
            return form
    return Format.PPROF
