"""`fleetprof certs`: a private authority for gateways and those who call them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.errors import CertificateProblem
from services.settings import read_settings

if TYPE_CHECKING:
    from services.certificates.register import Entry, Register

app = typer.Typer(
    no_args_is_help=True,
    help="Certificates for machines that are reached over the network: a private authority (CA).\n\n"
    "A gateway answers only callers whose certificate names a role: a collector may take captures, a viewer may "
    "only ask what a machine is and whether it is well, a gateway's own certificate commands nobody. For example:\n\n"
    "    fleetprof certs init\n\n"
    "    fleetprof certs issue collector main\n\n"
    "    fleetprof certs issue gateway node7.example,10.0.0.7 node8.example\n\n"
    "Then copy gateway/node7.example.crt, its .key and ca.crt to that machine, and nothing else: whoever has ca.key "
    "can call every gateway. Keep the folder on a machine that is neither node nor collector.",
)

Folder = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Where everything lies. Default: certs in FLEETPROF_STATE_DIR."),
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Its first line unlocks the authority's key, or locks a new one. Or set FLEETPROF_CA_PASSPHRASE.",
    ),
]
Days = Annotated[int, typer.Option(min=1, max=3650, help="How long it is good.")]
Keep = Annotated[bool, typer.Option("--keep", help="Leave what is there and still good as it is.")]


@app.command()
def init(
    folder: Folder = None,
    passphrase_file: PassphraseFile = None,
    days: Annotated[int, typer.Option(min=1, max=36500, help="How long it is good.")] = 3650,
    keep: Keep = False,
) -> None:
    """Make the authority: ca.key, which signs, and ca.crt, which both sides are given.

    With a passphrase the key is encrypted; without one it is only as safe as its folder.
    """
    register = _register(folder, passphrase_file)
    entry = register.init(days=days, keep=keep)
    typer.echo(
        f"{entry.path} is good until {entry.ends:%Y-%m-%d}. Next: fleetprof certs issue collector main"
    )


@app.command()
def issue(  # noqa: PLR0917 - the command line is its signature
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="gateway, api (servers), collector, viewer (callers of gateways), data-viewer or data-operator (callers of the data API).",
        ),
    ],
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME",
            help="Of each certificate. A server's: the host name or address it is reached by, as in the inventory; "
            "several of one machine with commas between. A caller's: a word.",
        ),
    ],
    folder: Folder = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write key, certificate and ca.crt there instead; of the key nothing stays here.",
        ),
    ] = None,
    days: Days = 397,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Make another one for a name that has one. The old one stays good."),
    ] = False,
    keep: Keep = False,
    keep_days: Annotated[
        int, typer.Option(min=0, help="With --keep: days that one must still be good for to be left.")
    ] = 30,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Make keys and certificates, one for each NAME; for the API by an authority of its own (api-ca.crt).

    Nothing that is there is overwritten. With --keep it may be run again and again.
    """
    from services.certificates.kinds import Kind  # noqa: PLC0415 - a command imports what it runs
    from services.certificates.names import parse  # noqa: PLC0415

    kinds = {each.value: each for each in Kind}
    if kind not in kinds:
        raise typer.BadParameter(f"{kind!r} is none of {', '.join(kinds)}.", param_hint="KIND")
    register = _register(folder, passphrase_file)
    # All names are judged before the first key is made.
    for wanted in [parse(kinds[kind], name) for name in names]:
        issued = register.issue(
            kinds[kind],
            wanted,
            days=days,
            into=into,
            keep_days=keep_days if keep else None,
            replace=replace,
        )
        verb = "is" if issued.is_new else "stays, and is"
        typer.echo(f"{issued.certificate} {verb} good until {issued.entry.ends:%Y-%m-%d}")
    if kinds[kind] is Kind.GATEWAY:
        typer.echo(
            "On the machine: fleetprof-gateway --listen [::]:7071 --tls-cert NAME.crt --tls-key NAME.key --tls-client-ca ca.crt"
        )
    elif kinds[kind] is Kind.COLLECTOR:
        typer.echo(
            "The collector's settings: FLEETPROF_GATEWAY_CA, FLEETPROF_GATEWAY_CERT, FLEETPROF_GATEWAY_KEY"
        )


@app.command()
def show(
    folder: Folder = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """List what was issued, with the days that are left. Exit code 1: something has ended."""
    register = _register(folder, None)
    entries = list(register.entries())
    now = datetime.now(UTC)
    if as_json:
        import json  # noqa: PLC0415

        typer.echo(json.dumps([_facts(entry, now) for entry in entries], indent=2))
    else:
        typer.echo(f"In {register.folder}:")
        _print(entries, register.folder, now)
    if any(entry.ends <= now for entry in entries):
        raise typer.Exit(1)


@app.command()
def renew(
    folder: Folder = None,
    within: Annotated[
        int, typer.Option(metavar="DAYS", min=0, help="Renew what ends within so many days.")
    ] = 30,
    days: Days = 397,
    new_keys: Annotated[
        bool,
        typer.Option("--new-keys", help="With new keys, too; without, only the certificates must be copied."),
    ] = False,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Sign again what ends soon, for the same names; fit for a monthly timer.

    Gateways and collectors take new files by themselves.
    """
    renewed = _register(folder, passphrase_file).renew(within_days=within, days=days, new_keys=new_keys)
    for issued in renewed:
        typer.echo(
            f"{issued.certificate} is good until {issued.entry.ends:%Y-%m-%d}: copy it to where it is used"
        )
    if not renewed:
        typer.echo(f"Nothing ends within {within} days.")


def _register(folder: Path | None, passphrase_file: Path | None) -> "Register":
    from services.certificates.register import Register  # noqa: PLC0415

    settings = read_settings()
    passphrase = settings.ca_passphrase.get_secret_value() if settings.ca_passphrase else ""
    if passphrase_file is not None:
        try:
            lines = passphrase_file.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise CertificateProblem(f"{passphrase_file} cannot be read: {error}") from error
        if not lines or not lines[0]:
            raise CertificateProblem(f"{passphrase_file} is empty; its first line is the passphrase.")
        passphrase = lines[0]
    return Register((folder or settings.state_dir / "certs").absolute(), passphrase)


def _facts(entry: "Entry", now: datetime) -> dict[str, object]:
    return {
        "kind": entry.kind.value if entry.kind else "authority",
        "names": list(entry.names),
        "path": str(entry.path),
        "begins": entry.begins.isoformat(),
        "ends": entry.ends.isoformat(),
        "days_left": entry.left(now).days,
        "sha256": entry.fingerprint,
    }


def _print(entries: "list[Entry]", folder: Path, now: datetime) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("kind", "names", "good until", "days left", "file"):
        table.add_column(heading, justify="right" if heading == "days left" else "left", overflow="fold")
    for entry in entries:
        left = entry.left(now).days
        style = "red" if left < 0 else "yellow" if left < 30 else ""
        table.add_row(
            entry.kind.value if entry.kind else "authority",
            ", ".join(entry.names),
            f"{entry.ends:%Y-%m-%d}",
            "ended" if left < 0 else str(left),
            str(entry.path.relative_to(folder)),
            style=style,
        )
    Console(highlight=False).print(table)
