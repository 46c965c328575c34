"""Dumps of the database by PostgreSQL's own programs, of a version that fits the server.

A dump is pg_dump's custom format, which any pg_restore of its version or newer reads. The archive is a folder or a
bucket of files that never change, and is copied by whatever copies those: **after** the dump. A row of the dump was written
after its blob, so a copy that is made later has every blob the dump speaks of; the other way round, what was
archived in between would have a row and no blob.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlalchemy.engine import URL

from services.embedded.programs import program_folders
from services.errors import BackupFailed
from storage import identity
from storage.condition import freshen, is_empty, server_version
from storage.database import normalized, open_engine
from storage.migrate import upgrade

_UNFINISHED = ".unfinished"
_SAID_LINES = 6


def dump(url: str, target: Path) -> int:
    """Write the database to a new file, readable by this user only; its bytes. Everything else goes on meanwhile.

    Raises BackupFailed, DatabaseError. A dump that is broken off leaves no `target`.
    """
    if target.exists():
        raise BackupFailed(f"{target} exists already; name a new file.")
    place = normalized(url)
    program = _program("pg_dump", at_least=_major(place))
    fresh = target.with_name(target.name + _UNFINISHED)
    fresh.unlink(missing_ok=True)
    try:
        _run(
            place,
            [program, "--format=custom", "--no-owner", "--no-privileges", f"--file={fresh}", _dbname(place)],
        )
        fresh.rename(target)
    finally:
        fresh.unlink(missing_ok=True)
    return target.stat().st_size


def restore(url: str, source: Path) -> Sequence[str]:
    """Fill an empty database from a dump, all or nothing; revisions of the schema it then lacked.

    Raises BackupFailed for a database that holds anything, DatabaseError.
    """
    if not source.is_file():
        raise BackupFailed(f"{source} is no file.")
    place = normalized(url)
    engine = open_engine(url, application="restore", pool_size=1)
    try:
        with engine.connect() as connection:
            empty = is_empty(connection)
        if not empty:
            raise BackupFailed(
                f"The database {place.database} holds tables already, and a dump goes into an empty one. Make one "
                "(CREATE DATABASE), or move the state directory of `fleetprof up` away, and restore again."
            )
        engine.dispose()
        program = _program("pg_restore", at_least=_major(place))
        _run(
            place,
            [
                program, "--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges", _dbname(place),
                source.absolute(),
            ],
        )  # fmt: skip
        applied = upgrade(url)
        with engine.begin() as connection:
            identity.renew(connection)
            freshen(connection)
        return applied
    finally:
        engine.dispose()


def _major(place: URL) -> int:
    engine = open_engine(place.render_as_string(hide_password=False), application="backup", pool_size=1)
    try:
        with engine.connect() as connection:
            return server_version(connection) // 10_000
    finally:
        engine.dispose()


def _program(name: str, *, at_least: int) -> Path:
    """The oldest one here that is not older than the server: pg_dump refuses a newer server."""
    found = {path: version for path in _programs(name) if (version := _version(path)) is not None}
    fitting = [path for path, version in found.items() if version >= at_least]
    if not fitting:
        seen = ", ".join(f"{path} ({version})" for path, version in found.items()) or "none"
        raise BackupFailed(
            f"The server is PostgreSQL {at_least}, and {name} must not be older; here there is {seen}. "
            f"Install postgresql-client-{at_least}."
        )
    return min(fitting, key=lambda path: found[path])


def _programs(name: str) -> Iterator[Path]:
    for folder in program_folders():
        if os.access(folder / name, os.X_OK):
            yield folder / name
    if on_path := shutil.which(name):
        yield Path(on_path)


def _version(program: Path) -> int | None:
    try:
        said = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\(PostgreSQL\) (\d+)", said)
    return int(match[1]) if match else None


def _dbname(place: URL) -> str:
    """The database for libpq, without the password: arguments are readable by every user."""
    spelled = place.set(drivername="postgresql", password=None).render_as_string(hide_password=False)
    return f"--dbname={spelled}"


def _run(place: URL, command: Sequence[str | Path]) -> None:
    secret = {"PGPASSWORD": str(place.password)} if place.password else {}
    mask = os.umask(0o077)
    try:
        done = subprocess.run(
            [str(part) for part in command],
            env={**os.environ, **secret, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BackupFailed(f"{command[0]} cannot be run: {error.strerror}.") from error
    finally:
        os.umask(mask)
    if done.returncode != 0:
        said = "\n".join(done.stderr.strip().splitlines()[-_SAID_LINES:])
        raise BackupFailed(f"{Path(command[0]).name} failed with {done.returncode}:\n{said}")
