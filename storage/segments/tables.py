"""The tables of the lake: the schema of a day's files. Each day is complete in itself.

`samples` is for general use: one row per fact with the names of its labels, so that
`SELECT application, sum(samples * period * weight) FROM samples GROUP BY application` estimates the fleet.
The others are the store's own tables as of the export, which answers with intervals are computed from.
The column `day` is the name of the folder.
"""

from collections.abc import Mapping
from types import MappingProxyType

import pyarrow as pa

from storage.schema.facts import DIMENSIONS

Column = tuple[str, pa.DataType]
_NAME = pa.dictionary(pa.int32(), pa.string())


def _schema(columns: list[Column]) -> pa.Schema:
    return pa.schema([pa.field(name, type_) for name, type_ in columns])


SAMPLES = _schema(
    [
        ("event", _NAME),
        ("unit", _NAME),
        ("campaign", _NAME),
        ("application", _NAME),
        ("version", _NAME),
        ("datacenter", _NAME),
        ("cluster", _NAME),
        ("platform", _NAME),
        ("kernel", _NAME),
        ("machine", _NAME),
        ("stacks", pa.bool_()),  # false: leaves only; a campaign's event has one or the other
        ("hour", pa.int32()),  # since 1970 UTC, the visit's
        ("visit", pa.int32()),  # number within the day, see visits
        ("profile", pa.int32()),  # number within the day, see profiles; ascending
        ("stack_id", pa.int32()),  # ascending within a profile
        ("samples", pa.int64()),
        ("period", pa.int64()),  # units one sample stands for
        ("weight", pa.float64()),  # units of the fleet per observed unit, for a query of this day alone
    ]
)
PROFILES = _schema(
    [
        ("profile", pa.int32()),
        ("visit", pa.int32()),
        ("profile_id", pa.int64()),
        *((name, pa.int32()) for name in ("generation", "campaign_id", "stratum_id", "hour")),
        ("sample_type_id", pa.int32()),
        ("stacks", pa.bool_()),
        *((name, pa.int32()) for name in ("segment", "machine_id", *DIMENSIONS, "label_set_id", "facts")),
        ("samples", pa.int64()),
        ("period", pa.int64()),
    ]
)
VISITS = _schema(
    [
        ("visit", pa.int32()),
        ("visit_id", pa.string()),  # Spark reads no Parquet UUIDs
        ("hour", pa.int32()),
        ("campaign_id", pa.int32()),
        ("round", pa.int64()),
        ("machine_id", pa.int32()),
        ("stratum_id", pa.int32()),
        ("population", pa.int32()),
        ("drawn", pa.int32()),
        ("probability", pa.float64()),
        ("drawn_at", pa.timestamp("us", tz="UTC")),
        ("outcome", pa.string()),
        ("seconds", pa.float64()),
        ("utilisation", pa.float64()),
    ]
)
SEGMENTS = _schema(
    [
        ("visit", pa.int32()),
        ("segment", pa.int32()),
        ("sample_type_id", pa.int32()),
        ("stacks", pa.bool_()),
        ("seconds", pa.float64()),
        ("period", pa.int64()),
        ("samples", pa.int64()),
    ]
)
COVERAGE = _schema(
    [
        *((name, pa.int32()) for name in ("campaign_id", "stratum_id", "hour", "utilisation_class")),
        *((name, pa.int32()) for name in ("population", "drawn", "answered", "failed")),
        ("seconds", pa.float64()),
    ]
)
STACKS = _schema(
    [
        ("stack_id", pa.int32()),
        ("leaf", pa.int32()),  # the last of `functions`
        ("functions", pa.list_(pa.int32())),  # outermost first
    ]
)
FUNCTIONS = _schema(
    [
        ("function_id", pa.int32()),
        ("kind", pa.int32()),
        ("name", pa.string()),
        ("raw_name", pa.string()),
        ("file", pa.string()),
        ("binary_name", pa.string()),
        ("start_line", pa.int32()),
        ("status", pa.int32()),
        ("binary_key", pa.string()),
        ("alias_of", pa.int32()),  # replace it by that function
    ]
)
VALUES = _schema([("value_id", pa.int32()), ("dim", pa.string()), ("value", pa.string())])
LABEL_SETS = _schema([("label_set_id", pa.int32()), ("labels", pa.string())])  # JSON
MACHINES = _schema([("machine_id", pa.int32()), ("name", pa.string())])
STRATA = _schema(
    [
        ("stratum_id", pa.int32()),
        ("datacenter", pa.string()),
        ("platform", pa.string()),
        ("thinning", pa.int32()),
    ]
)
CAMPAIGNS = _schema([("campaign_id", pa.int32()), ("name", pa.string())])
SAMPLE_TYPES = _schema(
    [("sample_type_id", pa.int32()), ("event", pa.string()), ("unit", pa.string()), ("kind", pa.string())]
)

NEWEST: Mapping[str, str] = MappingProxyType(
    {
        f"newest_{table}": f'SELECT * FROM "{table}"'  # noqa: S608 - our own names
        f" QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY split_part(filename, '/', -1) DESC) = 1"
        for table, key in (
            ("functions", "function_id"),
            ("values", "value_id"),
            ("label_sets", "label_set_id"),
            ("machines", "machine_id"),
            ("strata", "stratum_id"),
            ("campaigns", "campaign_id"),
            ("sample_types", "sample_type_id"),
        )
    }
)
"""Views of tables of names: a row may be in many days, and the latest export has the best name."""

TABLES: Mapping[str, pa.Schema] = MappingProxyType(
    {
        "samples": SAMPLES,
        "profiles": PROFILES,
        "visits": VISITS,
        "segments": SEGMENTS,
        "coverage": COVERAGE,
        "stacks": STACKS,
        "functions": FUNCTIONS,
        "values": VALUES,
        "label_sets": LABEL_SETS,
        "machines": MACHINES,
        "strata": STRATA,
        "campaigns": CAMPAIGNS,
        "sample_types": SAMPLE_TYPES,
    }
)
"""All tables by folder name."""
