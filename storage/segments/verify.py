"""Verifies that a day's files match their manifest, by reading them in full."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import duckdb

from storage.schema.facts import DIMENSIONS
from storage.segments.duck import DEFAULT, Limits, opened, table_of, translated
from storage.segments.location import Lake
from storage.segments.manifest import Manifest, TypeTotals

_TOTALS = """
SELECT c.name, t.event, t.unit, p.stacks, p.profiles, coalesce(s.facts, 0), coalesce(s.samples, 0), coalesce(s.units, 0)
FROM (SELECT campaign_id, sample_type_id, stacks, count(*) AS profiles FROM profiles GROUP BY ALL) p
JOIN campaigns c USING (campaign_id)
JOIN sample_types t USING (sample_type_id)
LEFT JOIN (
    SELECT campaign, event, unit, stacks, count(*) AS facts, sum(samples) AS samples, sum(samples * period) AS units
    FROM samples GROUP BY ALL
) s ON s.campaign = c.name AND s.event = t.event AND s.unit = t.unit AND s.stacks = p.stacks
"""
_LABELS = f"SELECT DISTINCT unnest([{', '.join(DIMENSIONS)}]) AS value_id FROM profiles"  # noqa: S608 - our own names
_DANGLING = (
    (
        "samples whose profile is missing",
        "SELECT count(*) FROM (SELECT DISTINCT profile FROM samples) ANTI JOIN profiles USING (profile)",
    ),
    (
        "profiles whose visit is missing",
        "SELECT count(*) FROM profiles ANTI JOIN visits USING (visit)",
    ),
    (
        "missing stacks of samples",
        "SELECT count(*) FROM (SELECT DISTINCT stack_id FROM samples) ANTI JOIN stacks USING (stack_id)",
    ),
    (
        "missing functions of stacks",
        "SELECT count(*) FROM (SELECT DISTINCT unnest(functions) AS function_id FROM stacks) ANTI JOIN functions USING (function_id)",
    ),
    (
        "functions whose alias is missing",
        "SELECT count(*) FROM functions WHERE alias_of NOT IN (SELECT function_id FROM functions)",
    ),
    (
        "missing labels of profiles",
        f'SELECT count(*) FROM ({_LABELS}) ANTI JOIN "values" USING (value_id) WHERE value_id <> 0',  # noqa: S608 - our own names
    ),
    (
        "missing label sets of profiles",
        "SELECT count(*) FROM profiles ANTI JOIN label_sets USING (label_set_id) WHERE label_set_id <> 0",
    ),
    *(
        (
            f"missing {what} of {table}",
            f"SELECT count(*) FROM {table} ANTI JOIN {names} USING ({key}) WHERE {key} IS NOT NULL",  # noqa: S608 - our own names
        )
        for what, table, names, key in (
            ("machines", "profiles", "machines", "machine_id"),
            ("machines", "visits", "machines", "machine_id"),
            ("strata", "profiles", "strata", "stratum_id"),
            ("strata", "visits", "strata", "stratum_id"),
            ("strata", "coverage", "strata", "stratum_id"),
            ("campaigns", "profiles", "campaigns", "campaign_id"),
            ("campaigns", "visits", "campaigns", "campaign_id"),
            ("campaigns", "coverage", "campaigns", "campaign_id"),
            ("events", "profiles", "sample_types", "sample_type_id"),
            ("events", "segments", "sample_types", "sample_type_id"),
            ("visits", "segments", "visits", "visit"),
        )
    ),
    (
        "duplicate rows of a stack",
        "SELECT count(*) - count(DISTINCT stack_id) FROM stacks",
    ),
)


def faults(
    lake: Lake, manifest: Manifest, limits: Limits = DEFAULT, stopping: Callable[[], bool] = lambda: False
) -> list[str]:
    """Problems of a day's files, a sentence each; none: they are as written, and match the manifest.

    Runs without a timeout other than `limits.timeout_s`. Raises `LakeError` if the lake cannot be read, or if stopped.
    """
    if wrong := list(_changed(lake, manifest, stopping)):
        return wrong
    with opened(lake, [manifest], replace(limits, timeout_s=None), stopping) as connection, translated():
        found = tuple(sorted(TypeTotals(*row) for row in connection.execute(_TOTALS).fetchall()))
        wrong = [
            f"{what} in the files, but not in PostgreSQL."
            for what in sorted(set(found) - set(manifest.totals))
        ]
        wrong += [
            f"{what} in PostgreSQL, but not in the files."
            for what in sorted(set(manifest.totals) - set(found))
        ]
        for what, sql in _DANGLING:
            if count := _count(connection, sql):
                wrong.append(f"There are {count:,} {what}.")
        for table, files in manifest.tables.items():
            rows = _count(connection, f"SELECT count(*) FROM ({table_of(lake, table, [manifest])})")  # noqa: S608 - paths are checked
            if rows != sum(file.rows for file in files):
                wrong.append(f"{table} has {rows:,} rows, not {sum(file.rows for file in files):,}.")
    return wrong


def _changed(lake: Lake, manifest: Manifest, stopping: Callable[[], bool]) -> Iterator[str]:
    """Files that are not byte for byte as written; DuckDB alone would read only their last bytes for many queries."""
    for table, files in manifest.tables.items():
        for key, file in zip(manifest.keys(table), files, strict=True):
            found = lake.digest(key, stopping)
            if found is None:
                yield f"{key} is missing."
            elif found != (file.bytes, file.sha256):
                yield f"{key} differs from what was written."


def _count(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    (row,) = connection.execute(sql).fetchall()
    return int(row[0])
