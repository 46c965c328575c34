"""Checks of storage: database, broker, archive, folders, disks. They change nothing except one temporary file."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

from gateway.doctor.findings import Finding, Grade
from services.configuration.settings import Settings
from services.errors import ServiceError

PATIENCE_S: Final = 5.0
OLDEST_POSTGRESQL: Final = 14
OLDEST_REDIS: Final = 6
_LITTLE_DISK: Final = 0.05
_LITTLE_DISK_BYTES: Final = 2 << 30
_LARGE_SKEW_S: Final = 1.0


def database(settings: Settings) -> Iterator[Finding]:
    """Whether it responds, its schema, its clock, and the machines' clocks."""
    from storage.database import open_engine  # noqa: PLC0415
    from storage.database_health import LARGE_SKEW_S, condition, skews  # noqa: PLC0415 - takes a while to load
    from storage.errors import StorageError  # noqa: PLC0415

    costs = "everything but gateways: no visits, no ingestion, no queries"
    try:
        url = settings.needed_database_url()
    except ServiceError as error:
        yield Finding("database", Grade.NOTE, "not configured here", costs, str(error))
        return
    try:
        engine = open_engine(url, application="doctor", pool_size=1)
        try:
            with engine.connect() as connection:
                found = condition(connection)
                clocks = None if found.lacking else skews(connection)
        finally:
            engine.dispose()
    except StorageError as error:
        yield Finding(
            "database", Grade.BAD, str(error), costs, "see FLEETPROF_DATABASE_URL in docs/settings.md"
        )
        return
    major = found.version // 10_000
    if major < OLDEST_POSTGRESQL:
        yield Finding(
            "database",
            Grade.BAD,
            f"PostgreSQL {major}",
            costs,
            f"run PostgreSQL {OLDEST_POSTGRESQL} or newer",
        )
    else:
        yield Finding("database", Grade.FINE, f"PostgreSQL {major} responds")
    if found.lacking:
        yield Finding(
            "schema",
            Grade.BAD,
            f"{len(found.lacking)} revision(s) are missing",
            costs,
            "fleetprof db upgrade",
        )
    else:
        yield Finding("schema", Grade.FINE, "is current")
    if abs(found.clock_skew_s) > _LARGE_SKEW_S:
        yield Finding(
            "clock",
            Grade.BAD,
            f"the database's clock differs by {found.clock_skew_s:+.1f} s",
            "correct days, hours and leases of visits, which use both clocks",
            "sudo timedatectl set-ntp true, on both",
        )
    else:
        yield Finding("clock", Grade.FINE, f"the database's clock differs by {found.clock_skew_s:+.2f} s")
    if clocks is not None and clocks.visits:
        if clocks.large:
            yield Finding(
                "machines' clocks",
                Grade.NOTE,
                f"in {clocks.large} of {clocks.visits} visits of the last day the machine's clock was off by more than {LARGE_SKEW_S:g} s, "
                f"by at most {clocks.worst_s:.0f} s",
                "correct times in their captures; the day and hour of a visit come from the collector",
                "sudo timedatectl set-ntp true, on those machines",
            )
        else:
            yield Finding(
                "machines' clocks", Grade.FINE, f"no clock was off in {clocks.visits} visits of the last day"
            )


def broker(settings: Settings) -> Finding:
    """Whether it responds."""
    import redis  # noqa: PLC0415

    costs = "captures are ingested late: only the sweep notifies workers"
    url = settings.known_redis_url()
    if url is None:
        return Finding("broker", Grade.NOTE, "not configured here", costs, "set FLEETPROF_REDIS_URL")
    try:
        # The broker URL of a Unix socket differs from the client library's.
        known = url.replace("redis+socket://", "unix://", 1).replace("virtual_host=", "db=")
        client = redis.Redis.from_url(known, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S)
        with client:
            version = str(client.info("server").get("redis_version", "0"))
    except (redis.RedisError, ValueError, OSError) as error:
        return Finding(
            "broker",
            Grade.BAD,
            f"does not respond: {error}",
            costs,
            "see FLEETPROF_REDIS_URL in docs/settings.md",
        )
    if int(version.split(".", maxsplit=1)[0]) < OLDEST_REDIS:
        return Finding(
            "broker", Grade.BAD, f"Redis {version}", costs, f"run Redis {OLDEST_REDIS} or newer, or Valkey"
        )
    return Finding("broker", Grade.FINE, f"Redis {version} responds")


def archive(settings: Settings) -> Finding:
    """Whether it returns what was stored."""
    from storage.archive import Archive  # noqa: PLC0415
    from storage.errors import StorageError  # noqa: PLC0415

    if "://" not in settings.archive and not Path(settings.archive).is_dir():
        return _not_there("archive", Path(settings.archive), "FLEETPROF_ARCHIVE_URL")
    key = f"doctor/{uuid4().hex}"
    try:
        store = Archive(settings.archive)
        store.put(key, b"fleetprof")
        try:
            same = store.get(key) == b"fleetprof"
        finally:
            store.delete(key)
    except StorageError as error:
        return Finding(
            "archive",
            Grade.BAD,
            str(error),
            "every visit: its capture cannot be stored",
            "see FLEETPROF_ARCHIVE_URL",
        )
    if not same:
        return Finding(
            "archive",
            Grade.BAD,
            f"{settings.archive} returns bytes that differ from those written",
            "every capture",
        )
    return Finding("archive", Grade.FINE, f"{settings.archive} can be read and written")


def folder(subject: str, folder: Path, setting: str) -> Finding:
    """Whether we can write there."""
    if not folder.is_dir():
        return _not_there(subject, folder, setting)
    trial = folder / f".doctor-{os.getpid()}"
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        return Finding(
            subject,
            Grade.BAD,
            f"cannot write to {folder}: {error.strerror}",
            "symbols: built files are not cached",
            f"give the worker's user write permission, or set {setting}",
        )
    return Finding(subject, Grade.FINE, f"{folder} is writable")


def _not_there(subject: str, folder: Path, setting: str) -> Finding:
    return Finding(
        subject,
        Grade.NOTE,
        f"{folder} does not exist yet",
        "nothing; it is created when needed",
        f"set {setting} to use another folder",
    )


def disks(settings: Settings) -> Iterator[Finding]:
    """Check each file system once."""
    seen: set[int] = set()
    folders = [settings.state_dir, settings.symbol_cache]
    if "://" not in settings.archive:
        folders.append(Path(settings.archive))
    for folder in folders:
        there = next((place for place in (folder, *folder.parents) if place.exists()), None)
        if there is None or (device := there.stat().st_dev) in seen:
            continue
        seen.add(device)
        usage = shutil.disk_usage(there)
        says = f"{usage.free >> 30} GiB of {usage.total >> 30} free at {there}"
        if usage.free < max(_LITTLE_DISK_BYTES, _LITTLE_DISK * usage.total):
            yield Finding(
                f"disk {there}",
                Grade.BAD,
                says,
                "captures and symbols, when the disk is full",
                "lower FLEETPROF_RETENTION_DAYS, or use a larger disk",
            )
        else:
            yield Finding(f"disk {there}", Grade.FINE, says)
