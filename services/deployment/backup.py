"""Database dumps made by PostgreSQL's own programs, in a version that fits the server.

A dump has pg_dump's custom format, which pg_restore of the same version or newer reads. pg_restore 17 emits a setting
that older servers reject, so the restore goes through a filter and psql. The archive is a folder or bucket of immutable
files. Copy it with any tool **after** the dump: each row of the dump was written after its blob, so a later copy
contains every blob that the dump refers to. A copy made before the dump would lack the blobs archived in between.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NoReturn

from sqlalchemy.engine import URL

from services.embedded.server_programs import program_folders
from services.errors import BackupFailed
from storage import identity
from storage.database import normalized, open_engine
from storage.database_health import freshen, is_empty, server_version
from storage.migrate import upgrade

_UNFINISHED = ".unfinished"
_OUTPUT_LINES = 6
_TIMEOUT_SINCE = 17
_TIMEOUT = b"SET transaction_timeout = 0;"
"""Setting that pg_restore 17 and newer emit first for every server. Servers 14 to 16 reject it and restore nothing."""


def dump(url: str, target: Path) -> int:
    """Write the database to a new file that only this user can read; returns its size in bytes. Blocks no other work.

    Raises BackupFailed, DatabaseError. An interrupted dump leaves no `target`.
    """
    if target.exists():
        raise BackupFailed(f"{target} already exists: give the path of a new file.")
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
    """Fill an empty database from a dump, all or nothing; returns the schema revisions that the dump lacks.

    Raises BackupFailed if the database is not empty, DatabaseError.
    """
    if not source.is_file():
        raise BackupFailed(f"{source} is not a file: give the path of a dump.")
    place = normalized(url)
    engine = open_engine(url, application="restore", pool_size=1)
    try:
        with engine.connect() as connection:
            empty = is_empty(connection)
        if not empty:
            raise BackupFailed(
                f"The database {place.database} has tables, but a dump needs an empty database. Create one "
                "(CREATE DATABASE), or move the state directory of `fleetprof up` away, and restore again."
            )
        engine.dispose()
        server = _major(place)
        program = _program("pg_restore", at_least=server, newest=True)
        options = ("--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges")
        if server < _TIMEOUT_SINCE <= (_version(program) or 0):
            _run_through_psql(place, [program, *options, "--file=-", source.absolute()])
        else:
            _run(place, [program, *options, _dbname(place), source.absolute()])
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


def without_timeout(script: IO[bytes], target: IO[bytes]) -> None:
    """Copy a script of pg_restore without the setting that older servers reject.

    The setting precedes the first object. An equal line after that is data.
    """
    for line in script:
        if line.rstrip() == _TIMEOUT:
            break
        target.write(line)
        if not line.startswith((b"--", b"\n", b"\\", b"SET ", b"SELECT pg_catalog.set_config", b"BEGIN")):
            break
    shutil.copyfileobj(script, target, 1 << 20)


def _program(name: str, *, at_least: int, newest: bool = False) -> Path:
    """The oldest (or `newest`) installed program that is not older than the server.

    pg_dump refuses a newer server. The oldest suitable pg_dump writes the dump that most versions can read. pg_restore
    refuses a dump of a newer pg_dump.
    """
    found = {path: version for path in _programs(name) if (version := _version(path)) is not None}
    fitting = [path for path, version in found.items() if version >= at_least]
    if not fitting:
        seen = ", ".join(f"{path} ({version})" for path, version in found.items()) or "none"
        raise BackupFailed(
            f"The server is PostgreSQL {at_least}, and {name} must not be older. Installed: {seen}. "
            f"Install postgresql-client-{at_least}."
        )
    return (max if newest else min)(fitting, key=lambda path: found[path])


def _programs(name: str) -> Iterator[Path]:
    for folder in program_folders():
        if os.access(folder / name, os.X_OK):
            yield folder / name
    if on_path := shutil.which(name):
        yield Path(on_path)


def _version(program: Path) -> int | None:
    try:
        output = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=30, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r"\(PostgreSQL\) (\d+)", output)
    return int(match[1]) if match else None


def _dbname(place: URL) -> str:
    """Database URL for libpq without the password, because every user can read arguments."""
    spelled = place.set(drivername="postgresql", password=None).render_as_string(hide_password=False)
    return f"--dbname={spelled}"


def _environment(place: URL) -> dict[str, str]:
    secret = {"PGPASSWORD": str(place.password)} if place.password else {}
    return {**os.environ, **secret, "LC_ALL": "C"}


def _run_through_psql(place: URL, command: Sequence[str | Path]) -> None:
    """Run the script of pg_restore. It is one transaction, so an interruption before COMMIT undoes everything."""
    restoring = Path(command[0])
    psql = restoring.with_name("psql")  # same version: scripts contain psql commands
    asking: list[str | Path] = [psql, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", _dbname(place)]
    with TemporaryFile() as output, TemporaryFile() as answered:
        try:
            with (
                subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=output,
                    env=_environment(place),
                ) as script,
                subprocess.Popen(
                    asking, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=answered,
                    env=_environment(place),
                ) as server,
            ):  # fmt: skip
                assert script.stdout is not None
                assert server.stdin is not None
                try:
                    without_timeout(script.stdout, server.stdin)
                    server.stdin.close()
                except BrokenPipeError:  # psql ended and prints the reason
                    script.stdout.close()
        except OSError as error:
            raise BackupFailed(f"Cannot run {error.filename or psql}: {error.strerror}.") from error
        # Check psql first: if it ends, pg_restore fails with a broken pipe too.
        _require_done(psql, server.returncode, answered)
        _require_done(restoring, script.returncode, output)


def _require_done(program: Path, code: int, output: IO[bytes]) -> None:
    if code != 0:
        output.seek(0)
        _failed(program, code, output.read().decode(errors="replace"))


def _failed(program: Path, code: int, output: str) -> NoReturn:
    last = "\n".join(output.strip().splitlines()[-_OUTPUT_LINES:])
    raise BackupFailed(f"{program.name} failed with exit code {code}:\n{last}")


def _run(place: URL, command: Sequence[str | Path]) -> None:
    mask = os.umask(0o077)
    try:
        done = subprocess.run(
            [str(part) for part in command],
            env=_environment(place),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise BackupFailed(f"Cannot run {command[0]}: {error.strerror}.") from error
    finally:
        os.umask(mask)
    if done.returncode != 0:
        _failed(Path(command[0]), done.returncode, done.stderr)
