"""`fleetprof symbols`: symbol files, and binaries without symbols."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from services.command_line.durations import Duration
from services.configuration.settings import read_settings

if TYPE_CHECKING:
    from services.symbols.access import SymbolAccess

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "Symbol files, and binaries without symbols.\n\nWithout --url and FLEETPROF_URL, the commands use the "
        "database and archive of this machine (docs/symbols.md)."
    ),
)
sources = typer.Typer(no_args_is_help=True, help="Source files of binaries.")
app.add_typer(sources, name="sources")

Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="API of another machine, e.g. https://fleetprof.example. Default: FLEETPROF_URL.",
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        metavar="TOKEN",
        help="Token for that API. Default: FLEETPROF_TOKEN, which is safer, because other users of this machine can read options.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Key = Annotated[
    str, typer.Argument(metavar="KEY", help="Key of the binary: its build-id, or the key in `status`.")
]


@app.command()
def upload(  # noqa: PLR0917 - the command line is its signature
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH…", help="Binaries, debug files, modules, vmlinux, .dwo, .dwp."),
    ],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Also upload the files with symbols below folders.")
    ] = False,
    wait: Annotated[
        float,
        typer.Option(
            parser=Duration,
            metavar="DURATION",
            help="Maximum time to wait for the effects of the upload; 0s: do not wait.",
        ),
    ] = "30s",  # type: ignore[assignment]  # typer parses the default, too
    url: Url = None,
    token: Token = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the API's JSON, one result per line.")
    ] = False,
) -> None:
    """Upload symbol files. The kind of each file and its build are read from its content.

    Files that are already stored are not sent again. Functions get names at once. Lines and inlined calls appear when the
    captures are reprocessed in the background; --wait shows the progress. The exit code is 1 if a file was refused.

    Example, in a build before binaries are stripped:

        FLEETPROF_URL=https://fleetprof.example FLEETPROF_TOKEN=… fleetprof symbols upload -r build/
    """
    from rich.console import Console  # noqa: PLC0415 - a command imports what it runs

    from services.symbols.symbol_files import files_at  # noqa: PLC0415
    from services.symbols.upload_progress import show_consequences, show_uploads  # noqa: PLC0415
    from services.symbols.uploading import Refused, Sent  # noqa: PLC0415

    files = list(files_at(paths, recursive=recursive))
    if not files:
        raise typer.BadParameter("There is no file with symbols below these folders.", param_hint="PATH")
    console = Console(highlight=False, stderr=as_json)
    with _access(url, token) as access:
        events = show_uploads(access, files, console)
        answers = [event.answer for event in events if isinstance(event, Sent)]
        if as_json:
            for answer in answers:
                _print_json(answer)
        if wait:
            show_consequences(access, answers, console, seconds=wait)
    if any(isinstance(event, Refused) for event in events):
        raise typer.Exit(1)


@app.command()
def status(  # noqa: PLR0917 - the command line is its signature
    find: Annotated[str, typer.Argument(help="Only binaries with this text in name, path or key.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="All binaries that ran, or that have stored files.")
    ] = False,
    sort: Annotated[
        str, typer.Option(metavar="COLUMN", help="Sort by cpu, unresolved, samples, machines, name or seen.")
    ] = "cpu",
    days: Annotated[int, typer.Option(min=1, max=35, help="Count samples of this many days.")] = 1,
    rows: Annotated[int, typer.Option(min=1, max=1000, help="Binaries to print.")] = 30,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """List binaries without symbols by the share of the fleet's CPU time that they hide."""
    from rich.console import Console  # noqa: PLC0415

    from services.symbols import terminal_tables  # noqa: PLC0415
    from storage.symbols.missing_symbols import Order  # noqa: PLC0415

    if sort not in list(Order):
        raise typer.BadParameter(
            f"Unknown column {sort!r}. Columns: {', '.join(Order)}.", param_hint="--sort"
        )
    query = {
        "show": "all" if everything else "missing",
        "sort": sort,
        "find": find,
        "limit": str(rows),
        "days": str(days),
    }
    with _access(url, token) as access:
        answer = access.listing(query)
    if as_json:
        _print_json(answer)
        return
    console = Console(highlight=False)
    if not answer["binaries"]:
        what = "" if everything else " that hides samples"
        console.print(
            f"No binary{what} matches {find!r}." if find else "Every sampled function has a name."
            if not everything else "No binary has run yet."
        )  # fmt: skip
        return
    console.print(terminal_tables.listing(answer))
    if answer["total"] > len(answer["binaries"]):
        console.print(f"{answer['total'] - len(answer['binaries']):,} more: increase --rows", style="dim")


@app.command()
def show(key: Key, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show all stored symbols of one binary: files, builds, requests and their results."""
    from rich.console import Console  # noqa: PLC0415

    from services.symbols import terminal_tables  # noqa: PLC0415

    with _access(url, token) as access:
        answer = access.show(key)
    if as_json:
        _print_json(answer)
    else:
        Console(highlight=False).print(terminal_tables.details(answer), soft_wrap=True)


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A binary or debug file.")],
    as_json: AsJson = False,
) -> None:
    """Show the kind of a file and the symbols that an upload of it would add, without sending it.

    The exit code is 1 for a file without symbols.
    """
    from rich.console import Console  # noqa: PLC0415

    from services.symbols.errors import UnusableFile  # noqa: PLC0415
    from services.symbols.inspection_report import described  # noqa: PLC0415
    from symbolizer.inspection.inspector import NotInspected, inspect_in_child  # noqa: PLC0415

    found = inspect_in_child(file)
    if isinstance(found, NotInspected):
        raise UnusableFile(f"{file}: {found.reason}")
    if as_json:
        typer.echo(found.to_json())
    else:
        Console(highlight=False).print(described(file, found), soft_wrap=True)


@app.command()
def remove(
    key: Key,
    sha256: Annotated[
        str, typer.Argument(metavar="SHA256", help="SHA-256 of the file, or its beginning; see `show`.")
    ],
    url: Url = None,
    token: Token = None,
) -> None:
    """Remove a stored file. The next best file replaces it, and captures that it may have named are reprocessed."""
    with _access(url, token) as access:
        files = [row for row in access.show(key)["files"] if row["sha256"].startswith(sha256.lower())]
        if len(files) != 1:
            many = f"{len(files)} files of this binary match" if files else "No file of this binary matches"
            raise typer.BadParameter(f"{many} {sha256!r}. List its files: fleetprof symbols show {key}")
        access.remove(key, bytes.fromhex(files[0]["sha256"]))
    typer.echo(f"Removed {files[0]['name'] or files[0]['sha256']}.")


@app.command()
def reprocessings(url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """List captures that are reprocessed because of better symbols, with the progress."""
    from rich.console import Console  # noqa: PLC0415

    from services.symbols import terminal_tables  # noqa: PLC0415

    with _access(url, token) as access:
        answer = access.reprocessings()
    if as_json:
        _print_json(answer)
        return
    if not answer["reprocessings"]:
        typer.echo("No captures were reprocessed yet.")
        return
    console = Console(highlight=False)
    for row in answer["reprocessings"]:
        console.print(
            f"{terminal_tables.when(row['requested_at'])}  {terminal_tables.short(row['key'])}  {row['why']} {terminal_tables.progress(row)}",
            style="dim" if row["finished_at"] else "",
            soft_wrap=True,
        )


@sources.command("upload")
def upload_sources(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="Folder of source files.")
    ],
    key: Annotated[
        str, typer.Option(metavar="KEY", help="Key of the binary that was built from these sources.")
    ],
    built_at: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Location of the folder during the build, as in the debug information. Default: its location here.",
        ),
    ] = None,
    url: Url = None,
    token: Token = None,
) -> None:
    """Upload the source files below a folder, for annotated source views. Identical files are stored once."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    from rich.console import Console  # noqa: PLC0415

    from services.symbols import source_tree  # noqa: PLC0415
    from services.symbols.errors import UnusableFile  # noqa: PLC0415

    place = folder.absolute()
    files = list(source_tree.source_files(place))
    if not files:
        raise UnusableFile(f"There is no source file below {folder}.")
    console = Console(highlight=False, stderr=True)
    with _access(url, token) as access, TemporaryDirectory() as scratch, console.status("Packing …") as line:
        archive = Path(scratch, "sources.tar")
        with archive.open("wb") as target:
            source_tree.pack(
                files,
                place,
                PurePosixPath(built_at or place),
                target,
                lambda count: line.update(f"Packing {count:,} of {len(files):,} files …"),
            )
        line.update("Uploading …")
        answer = access.upload_sources(key, archive, sent=lambda _: None)
    skipped = answer.get("skipped", 0)
    odd = f" {skipped:,} were skipped, because their names are not UTF-8 or too long." if skipped else ""
    typer.echo(f"Stored {answer['files']:,} source files of {key}.{odd}")
    if not answer["sampled"]:
        console.print(
            f"No profile has a binary with the key {key} yet. `fleetprof symbols list` shows the keys; a Go program's is "
            "go:BUILD_ID.",
            style="yellow",
        )


def _print_json(value: object) -> None:
    import json  # noqa: PLC0415

    typer.echo(json.dumps(value))


@contextmanager
def _access(url: str | None, token: str | None) -> "Iterator[SymbolAccess]":
    """Open the repository of symbols; close it at the end of the block."""
    from services.symbols.access import open_access  # noqa: PLC0415

    access = open_access(read_settings(), url, token)
    try:
        yield access
    finally:
        access.close()
