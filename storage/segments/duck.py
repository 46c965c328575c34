"""An embedded DuckDB whose tables are the lake's days under the names that the store's queries know."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from threading import Event, Thread
from time import monotonic

import duckdb

from storage.segments.dialect import translated
from storage.segments.manifest import Manifest
from storage.segments.place import Lake
from storage.segments.tables import TABLES
from storage.visits import BY_HAND

_MARK = -(2**31)
"""An hour before all others: the campaign drew machines before the first day the lake has."""
_VIEWS = (
    (
        "visit",
        "SELECT * REPLACE (CAST(visit_id AS UUID) AS visit_id, drawn_at AT TIME ZONE 'UTC' AS drawn_at) FROM visits",
    ),
    (
        "profile",
        "SELECT p.*, CAST(v.visit_id AS UUID) AS visit_id FROM profiles p JOIN visits v ON v.day = p.day AND v.visit = p.visit",
    ),
    (
        "capture_segment",
        "SELECT s.*, CAST(v.visit_id AS UUID) AS visit_id FROM segments s JOIN visits v ON v.day = s.day AND v.visit = s.visit",
    ),
)
_LOOK_S = 0.2
"""Between looks whether DuckDB is to stop."""
_NEWEST = (
    # (view, table, key): the same row may stand in many days; the one exported last has the best name.
    ("function", "functions", "function_id"),
    ("dim_value", "values", "value_id"),
    ("label_set", "label_sets", "label_set_id"),
    ("machine", "machines", "machine_id"),
    ("stratum", "strata", "stratum_id"),
    ("campaign", "campaigns", "campaign_id"),
    ("sample_type", "sample_types", "sample_type_id"),
)
_MACROS = (
    "CREATE MACRO uuid_send(x) AS unhex(replace(CAST(x AS VARCHAR), '-', ''))",
    "CREATE MACRO get_byte(b, n) AS CAST('0x' || substr(hex(b), CAST(2 * n + 1 AS BIGINT), 2) AS INTEGER)",
    "CREATE MACRO jsonb_object_keys(j) AS unnest(json_keys(j))",
)
"""PostgreSQL's functions that the store's queries use and DuckDB lacks."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an answer may take of the machine."""

    memory_bytes: int = 4 << 30
    """Of DuckDB's; what does not fit is put into `spill`."""
    threads: int = 0
    """0: one for each CPU."""
    spill: Path | None = None
    """Folder for what does not fit into memory; None, or one that cannot be written: it fails."""
    timeout_s: float | None = 300.0
    """None: as long as it takes."""


DEFAULT = Limits()


@contextmanager
def opened(
    lake: Lake, manifests: Sequence[Manifest], limits: Limits, stopping: Callable[[], bool] = lambda: False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB in memory over these days of one database, at least one; it reads nothing else of the disk.

    `LakeBusy` is raised in whoever uses it for longer than `limits.timeout_s`, or when `stopping`.
    """
    with duckdb.connect(":memory:") as connection:
        _limit(connection, limits)
        system = lake.file_system()
        if system is not None:
            connection.register_filesystem(system)
        for macro in _MACROS:
            connection.execute(macro)
        with translated():
            for name in TABLES:
                view = "covered" if name == "coverage" else name
                connection.execute(f'CREATE VIEW "{view}" AS {table_of(lake, name, manifests)}')
            _create_views(connection, manifests)
        if system is None:
            connection.execute(f"SET allowed_directories = [{_quoted(lake.root)}]")
            connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        with _interrupted(connection, limits.timeout_s, stopping):
            yield connection


@contextmanager
def _interrupted(
    connection: duckdb.DuckDBPyConnection, timeout_s: float | None, stopping: Callable[[], bool]
) -> Iterator[None]:
    """Interrupts statements, each anew: an interrupt between two of them is lost."""
    over = Event()
    end = None if timeout_s is None else monotonic() + timeout_s

    def watch() -> None:
        wait_s = _LOOK_S if timeout_s is None else min(_LOOK_S, timeout_s)
        while not over.wait(wait_s):
            if stopping() or (end is not None and monotonic() > end):
                connection.interrupt()

    watching = Thread(target=watch, name="duckdb-interrupt", daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


def table_of(lake: Lake, name: str, manifests: Sequence[Manifest]) -> str:
    """A SELECT of all rows of a table in these days, with the column `day`, for DuckDB."""
    paths = [lake.path(key) for manifest in manifests for key in manifest.keys(name)]
    files = ", ".join(map(_quoted, paths))
    return (
        f"SELECT * FROM read_parquet([{files}], hive_partitioning = true,"  # noqa: S608 - paths are checked
        " hive_types = {'day': DATE}, filename = true)"
    )


def _create_views(connection: duckdb.DuckDBPyConnection, manifests: Sequence[Manifest]) -> None:
    for name, select in _VIEWS:
        connection.execute(f"CREATE VIEW {name} AS {select}")
    for name, table, key in _NEWEST:
        replaced = " REPLACE (CAST(labels AS JSON) AS labels)" if name == "label_set" else ""
        connection.execute(
            f'CREATE VIEW {name} AS SELECT *{replaced} FROM "{table}"'  # noqa: S608 - our own names
            f" QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY parse_filename(filename) DESC) = 1"
        )
    marks = "".join(
        f" UNION ALL BY NAME SELECT {campaign:d} AS campaign_id, 0 AS stratum_id, {_MARK} AS hour,"
        " -1 AS utilisation_class, 0 AS population, 1 AS drawn"
        for campaign in _begun_before(manifests)
    )
    connection.execute(f"CREATE VIEW coverage AS SELECT * FROM covered{marks}")  # noqa: S608 - numbers
    _create_covered_time(connection, manifests)


def _create_covered_time(connection: duckdb.DuckDBPyConnection, manifests: Sequence[Manifest]) -> None:
    connection.execute("CREATE TABLE covered_time (campaign_id INTEGER, begins TIMESTAMP, ends TIMESTAMP)")
    runs = [
        (campaign, *run)
        for each in manifests
        for campaign, runs in (each.covered or {}).items()
        for run in runs
    ]
    if runs:
        connection.execute(
            "INSERT INTO covered_time SELECT run[1], make_timestamp(run[2]), make_timestamp(run[3])"
            " FROM (SELECT unnest(CAST(? AS BIGINT[][])) AS run)",
            [runs],
        )
    # Days exported before runs were recorded: a campaign's first hour began with its first visit. A later day without
    # a run has hours that count whole, as in PostgreSQL.
    for manifest in manifests:
        begun = sorted(manifest.begun.items()) if manifest.covered is None else []
        for campaign, hour in begun:
            connection.execute(
                "INSERT INTO covered_time SELECT campaign_id, min(drawn_at), make_timestamp(CAST(? AS BIGINT)) FROM visit"
                " WHERE campaign_id = ? AND hour = ? AND round <> ? GROUP BY campaign_id",
                [(hour + 1) * 3_600_000_000, campaign, hour, BY_HAND],
            )


def _begun_before(manifests: Sequence[Manifest]) -> list[int]:
    """The campaigns whose first draw was on none of these days, so before one that has any."""
    first: dict[int, int] = {}
    for manifest in manifests:
        for campaign, hour in manifest.begun.items():
            first[campaign] = min(hour, first.get(campaign, hour))
    known = {(manifest.day - date(1970, 1, 1)).days for manifest in manifests}
    return sorted(campaign for campaign, hour in first.items() if hour // 24 not in known)


def _limit(connection: duckdb.DuckDBPyConnection, limits: Limits) -> None:
    connection.execute(f"SET memory_limit = '{limits.memory_bytes}B'")
    if limits.threads:
        connection.execute(f"SET threads = {limits.threads}")
    connection.execute(f"SET temp_directory = {_quoted(_made(limits.spill))}")
    for setting in (
        "TimeZone = 'UTC'",
        "arrow_lossless_conversion = true",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "enable_progress_bar = false",
    ):
        connection.execute(f"SET {setting}")


def _made(folder: Path | None) -> str:
    """The folder, made where it is missing; empty where there is none, or it is not for us to write."""
    if folder is None:
        return ""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return ""
    return str(folder) if os.access(folder, os.W_OK | os.X_OK) else ""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
