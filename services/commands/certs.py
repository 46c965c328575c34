"""`fleetprof certs`: a private authority for gateways and their callers."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from services.configuration.settings import read_settings
from services.errors import CertificateProblem

if TYPE_CHECKING:
    from services.certificates.register import Entry, Register

app = typer.Typer(
    no_args_is_help=True,
    help=(
        "A private certificate authority (CA), for machines that are reached over the network.\n\nA gateway "
        "serves only callers whose certificate contains a role. A collector may take captures; a viewer may "
        "only read a machine's description and health; a gateway's own certificate permits no calls. For "
        "example:\n\n    fleetprof certs init\n\n    fleetprof certs issue collector main\n\n    fleetprof certs "
        "issue gateway node7.example,10.0.0.7 node8.example\n\nThen copy gateway/node7.example.crt, its .key "
        "and ca.crt to that machine, and nothing else: ca.key permits calls to every gateway. Keep the "
        "folder on a machine that is neither node nor collector."
    ),
)

Folder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Folder of keys and certificates. Default: certs in FLEETPROF_STATE_DIR."
    ),
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="File whose first line is the passphrase of the authority's key. Or set FLEETPROF_CA_PASSPHRASE.",
    ),
]
Days = Annotated[int, typer.Option(min=1, max=3650, help="Days of validity.")]
Keep = Annotated[bool, typer.Option("--keep", help="Keep existing certificates that are still valid.")]


@app.command()
def init(
    folder: Folder = None,
    passphrase_file: PassphraseFile = None,
    days: Annotated[int, typer.Option(min=1, max=36500, help="Days of validity.")] = 3650,
    keep: Keep = False,
) -> None:
    """Create the authority: ca.key, which signs, and ca.crt, which both sides need.

    A passphrase encrypts the key. Without one, every user who can read the folder can use the key.
    """
    register = _register(folder, passphrase_file)
    entry = register.init(days=days, keep=keep)
    typer.echo(
        f"{entry.path} is valid until {entry.ends:%Y-%m-%d}. Next: fleetprof certs issue collector main"
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
            help=(
                "Name in each certificate. For a server: its host name or address as in the inventory; several names of "
                "one machine are separated by commas. For a caller: one word."
            ),
        ),
    ],
    folder: Folder = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write key, certificate and ca.crt to this folder. The folder of certificates gets no copy of the key.",
        ),
    ] = None,
    days: Days = 397,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Create another certificate for a name that has one. The old one stays valid."
        ),
    ] = False,
    keep: Keep = False,
    keep_days: Annotated[
        int,
        typer.Option(
            min=0, help="With --keep: a certificate is kept only if it is valid for more than this many days."
        ),
    ] = 30,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Create keys and certificates, one for each NAME. A separate authority (api-ca.crt) signs those of the API.

    Existing files are never overwritten. With --keep the command may be repeated.
    """
    from services.certificates.kinds import Kind  # noqa: PLC0415 - a command imports what it runs
    from services.certificates.names import parse  # noqa: PLC0415

    kinds = {each.value: each for each in Kind}
    if kind not in kinds:
        raise typer.BadParameter(f"Unknown kind {kind!r}. Kinds: {', '.join(kinds)}.", param_hint="KIND")
    register = _register(folder, passphrase_file)
    # All names are checked before the first key is created.
    for wanted in [parse(kinds[kind], name) for name in names]:
        issued = register.issue(
            kinds[kind],
            wanted,
            days=days,
            into=into,
            keep_days=keep_days if keep else None,
            replace=replace,
        )
        verb = "is" if issued.is_new else "is unchanged and"
        typer.echo(f"{issued.certificate} {verb} valid until {issued.entry.ends:%Y-%m-%d}")
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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List all certificates with the days left. The exit code is 1 if a certificate has expired."""
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
        int, typer.Option(metavar="DAYS", min=0, help="Renew certificates that expire within this many days.")
    ] = 30,
    days: Days = 397,
    new_keys: Annotated[
        bool,
        typer.Option(
            "--new-keys",
            help="Also create new keys. Without this option only the certificates must be copied to the machines.",
        ),
    ] = False,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Renew certificates that expire soon, for the same names.

    The command is suitable for a monthly timer. Gateways and collectors load new files automatically.
    """
    renewed = _register(folder, passphrase_file).renew(within_days=within, days=days, new_keys=new_keys)
    for issued in renewed:
        typer.echo(
            f"{issued.certificate} is valid until {issued.entry.ends:%Y-%m-%d}: copy it to its machine"
        )
    if not renewed:
        typer.echo(f"No certificate expires within {within} days.")


def _register(folder: Path | None, passphrase_file: Path | None) -> "Register":
    from services.certificates.register import Register  # noqa: PLC0415

    settings = read_settings()
    passphrase = settings.ca_passphrase.get_secret_value() if settings.ca_passphrase else ""
    if passphrase_file is not None:
        try:
            lines = passphrase_file.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise CertificateProblem(f"Cannot read {passphrase_file}: {error}") from error
        if not lines or not lines[0]:
            raise CertificateProblem(f"{passphrase_file} is empty: write the passphrase to its first line.")
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
    for heading in ("kind", "names", "valid until", "days left", "file"):
        table.add_column(heading, justify="right" if heading == "days left" else "left", overflow="fold")
    for entry in entries:
        left = entry.left(now).days
        style = "red" if left < 0 else "yellow" if left < 30 else ""
        table.add_row(
            entry.kind.value if entry.kind else "authority",
            ", ".join(entry.names),
            f"{entry.ends:%Y-%m-%d}",
            "expired" if left < 0 else str(left),
            str(entry.path.relative_to(folder)),
            style=style,
        )
    Console(highlight=False).print(table)
