"""`fleetprof symbols`: files that name functions, and what still lacks them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

import typer

from services.durations import Duration
from services.settings import read_settings

if TYPE_CHECKING:
    from services.symbols.access import SymbolAccess

app = typer.Typer(
    no_args_is_help=True,
    help="Files that name functions, and what still lacks them.\n\nWithout --url and FLEETPROF_URL the database and "
    "archive of this machine are used directly (docs/symbols.md).",
)
sources = typer.Typer(no_args_is_help=True, help="Source files of binaries.")
app.add_typer(sources, name="sources")

Url = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The API of another machine, e.g. https://fleetprof.example. Default: FLEETPROF_URL.",
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        metavar="TOKEN",
        help="For that API. Default: FLEETPROF_TOKEN, which other users of this machine cannot read.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Key = Annotated[
    str, typer.Argument(metavar="KEY", help="The binary's key: its build-id, or what `status` shows.")
]


@app.command()
def upload(  # noqa: PLR0917 - the command line is its signature
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH…", help="Binaries, debug files, modules, vmlinux, .dwo, .dwp."),
    ],
    recursive: Annotated[
        bool, typer.Option("--recursive", "-r", help="Upload what is useful below folders, too.")
    ] = False,
    wait: Annotated[
        float,
        typer.Option(
            parser=Duration, metavar="DURATION", help="How long to follow what comes of it; 0s: not at all."
        ),
    ] = "30s",  # type: ignore[assignment]  # typer parses the default, too
    url: Url = None,
    token: Token = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the API's answers as JSON, one a line.")
    ] = False,
) -> None:
    """Upload files with symbols: what each is, and of which build, is read from it.

    Files that are stored already are not sent again. Functions get their names at once; captures are
    landed again in the background for lines and inlined calls, which --wait follows. The exit code is 1
    if a file was refused. From a build, before it is stripped:

        FLEETPROF_URL=https://fleetprof.example FLEETPROF_TOKEN=… fleetprof symbols upload -r build/
    """
    from rich.console import Console  # noqa: PLC0415 - a command imports what it runs

    from services.symbols.files import files_at  # noqa: PLC0415
    from services.symbols.progress import show_consequences, show_uploads  # noqa: PLC0415
    from services.symbols.uploading import Refused, Sent  # noqa: PLC0415

    files = list(files_at(paths, recursive=recursive))
    if not files:
        raise typer.BadParameter("Nothing below these folders is a file with symbols.", param_hint="PATH")
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
    find: Annotated[str, typer.Argument(help="Only with this text in name, path or key.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Every binary that ran, or that something is stored for.")
    ] = False,
    sort: Annotated[
        str, typer.Option(metavar="COLUMN", help="cpu, unresolved, samples, machines, name or seen.")
    ] = "cpu",
    days: Annotated[int, typer.Option(min=1, max=35, help="Samples of the last so many days count.")] = 1,
    rows: Annotated[int, typer.Option(min=1, max=1000, help="Binaries to print.")] = 30,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Show which binaries' functions have no names, by how much of the fleet's CPU time they hide."""
    from rich.console import Console  # noqa: PLC0415

    from services.symbols import tables  # noqa: PLC0415
    from storage.symbols.missing import Order  # noqa: PLC0415

    if sort not in list(Order):
        raise typer.BadParameter(f"one of {', '.join(Order)}.", param_hint="--sort")
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
            f"No binary{what} matches {find!r}." if find else "No function that was sampled lacks a name."
            if not everything else "No binary has run yet."
        )  # fmt: skip
        return
    console.print(tables.listing(answer))
    if answer["total"] > len(answer["binaries"]):
        console.print(f"{answer['total'] - len(answer['binaries']):,} more: --rows", style="dim")


@app.command()
def show(key: Key, url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show everything that is known of one binary's symbols: files, builds, who was asked, what came of it."""
    from rich.console import Console  # noqa: PLC0415

    from services.symbols import tables  # noqa: PLC0415

    with _access(url, token) as access:
        answer = access.show(key)
    if as_json:
        _print_json(answer)
    else:
        Console(highlight=False).print(tables.details(answer), soft_wrap=True)


@app.command()
def inspect(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="A binary or debug file.")],
    as_json: AsJson = False,
) -> None:
    """Show what a file is and what it can name, as an upload would find it; nothing is sent anywhere.

    The exit code is 1 for a file that is of no use.
    """
    from rich.console import Console  # noqa: PLC0415

    from services.symbols.errors import UnusableFile  # noqa: PLC0415
    from services.symbols.inspected import described  # noqa: PLC0415
    from symbolizer.inspection.inspector import NotInspected, inspect_apart  # noqa: PLC0415

    found = inspect_apart(file)
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
        str, typer.Argument(metavar="SHA256", help="Of the file, or how it begins; see `show`.")
    ],
    url: Url = None,
    token: Token = None,
) -> None:
    """Forget a stored file: the next best takes its place; captures it may have named are landed again."""
    with _access(url, token) as access:
        files = [row for row in access.show(key)["files"] if row["sha256"].startswith(sha256.lower())]
        if len(files) != 1:
            many = f"{len(files)} files" if files else "No file"
            raise typer.BadParameter(f"{many} of this binary begin so; see: fleetprof symbols show {key}")
        access.remove(key, bytes.fromhex(files[0]["sha256"]))
    typer.echo(f"{files[0]['name'] or files[0]['sha256']} is removed.")


@app.command()
def relandings(url: Url = None, token: Token = None, as_json: AsJson = False) -> None:
    """Show which captures are landed again because symbols became better, and how far that is."""
    from rich.console import Console  # noqa: PLC0415

    from services.symbols import tables  # noqa: PLC0415

    with _access(url, token) as access:
        answer = access.relandings()
    if as_json:
        _print_json(answer)
        return
    if not answer["relandings"]:
        typer.echo("No captures were landed again yet.")
        return
    console = Console(highlight=False)
    for row in answer["relandings"]:
        console.print(
            f"{tables.when(row['asked_at'])}  {tables.short(row['key'])}  {row['why']} {tables.progress(row)}",
            style="dim" if row["finished_at"] else "",
            soft_wrap=True,
        )


@sources.command("upload")
def upload_sources(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", exists=True, file_okay=False, help="Source files lie below it.")
    ],
    key: Annotated[str, typer.Option(metavar="KEY", help="The binary that was built from them.")],
    built_at: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Where the folder lay when the binary was built, as its debug information says. Default: where it lies.",
        ),
    ] = None,
    url: Url = None,
    token: Token = None,
) -> None:
    """Upload the source files below a folder, to be shown annotated. Each text is stored once."""
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
    odd = f" {skipped:,} were skipped: their names are no UTF-8 or too long." if skipped else ""
    typer.echo(f"{answer['files']:,} source files of {key} are stored.{odd}")


def _print_json(value: object) -> None:
    import json  # noqa: PLC0415

    typer.echo(json.dumps(value))


@contextmanager
def _access(url: str | None, token: str | None) -> "Iterator[SymbolAccess]":
    """The repository that is meant; closed at the end."""
    from services.symbols.access import open_access  # noqa: PLC0415

    access = open_access(read_settings(), url, token)
    try:
        yield access
    finally:
        access.close()
