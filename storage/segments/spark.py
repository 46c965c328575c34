"""Runs the SQL of segments on Spark, translated from DuckDB's dialect, on a cluster or on threads of this process.

Requires PySpark and Java 17 or later. Cluster workers read the lake's files themselves, so its URL must be valid there.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from threading import Event, Lock, Thread
from typing import Any

import pyarrow as pa
import sqlglot
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType
from sqlglot import exp

from storage.segments.duck import Limits
from storage.segments.errors import LakeBusy, LakeChanged, LakeError, LakeUnavailable
from storage.segments.location import Lake
from storage.segments.manifest import Manifest
from storage.segments.session import Columns, first_line
from storage.segments.tables import NEWEST, TABLES
from storage.snapshots import query_budget

_LOCAL = re.compile(r"local(\[(\d+|\*)\])?")
_GROUPS = count()
_STARTING = Lock()
_LOOK_S = 0.2
"""Interval of attempts to cancel running jobs."""
_TOO_LONG = "The query in Spark reached its time limit and was stopped."


def master_of(url: str) -> str:
    """The Spark master of an engine URL: a `spark://HOST:PORT` URL itself, else the part behind `spark://`.

    Examples of such parts are `local[2]`, `yarn` and `k8s://…`.
    """
    rest = url.removeprefix("spark://")
    return rest if _LOCAL.fullmatch(rest) or rest == "yarn" or rest.startswith("k8s://") else url


@lru_cache(maxsize=256)
def translated(sql: str) -> str:
    """A DuckDB SELECT in Spark's dialect."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == "epoch_us":
            call.replace(exp.Anonymous(this="unix_micros", expressions=call.expressions))
    return str(tree.sql("spark"))


class SparkStatements:
    """A Spark session over some days, as `storage.segments.session.Statements`."""

    def __init__(self, url: str, lake: Lake, manifests: Sequence[Manifest], limits: Limits) -> None:
        """`limits.memory_bytes` apply to the driver, if this process has no Spark yet."""
        self._group, self._late = "", Event()
        with _errors():
            self._spark = _session(master_of(url), limits)
            for name, schema in TABLES.items():
                paths = [_path(lake, key) for manifest in manifests for key in manifest.keys(name)]
                # A given schema avoids opening files before a statement needs them.
                read = self._spark.read.schema(_types(schema)).option("basePath", _path(lake, name))
                files = read.parquet(*paths)
                files.selectExpr("*", "_metadata.file_path AS filename").createOrReplaceTempView(name)
            for name, sql in NEWEST.items():
                self._spark.sql(translated(sql)).createOrReplaceTempView(name)

    def table(self, sql: str, given: Sequence[int], tables: Mapping[str, Columns]) -> pa.Table:
        """The rows of a SELECT, like `Statements.table`."""
        if self._late.is_set():
            raise LakeBusy(_TOO_LONG)
        with _errors():
            for name, columns in tables.items():
                self._spark.createDataFrame(pa.table(dict(columns))).createOrReplaceTempView(name)
            try:
                self._spark.sparkContext.setJobGroup(self._group, "fleetprof", interruptOnCancel=True)
                found: pa.Table = self._spark.sql(translated(sql), args=list(given) or None).toArrow()
            finally:
                for name in tables:
                    self._spark.catalog.dropTempView(name)
        return found

    @contextmanager
    def within(self, timeout_s: float | None) -> Iterator[None]:
        """Cancel the block's jobs after `timeout_s`."""
        self._group = f"fleetprof-{next(_GROUPS)}"
        ended, self._late = Event(), Event()

        def watch() -> None:
            if not ended.wait(timeout_s):
                self._late.set()
                while not ended.wait(_LOOK_S):  # repeated, since a statement may be between two jobs
                    self._spark.sparkContext.cancelJobGroup(self._group)

        watching = Thread(target=watch, name="spark-interrupt", daemon=True)
        watching.start()
        try:
            yield
        except LakeError as error:
            if self._late.is_set():
                raise LakeBusy(_TOO_LONG) from error
            raise
        finally:
            ended.set()
            watching.join()

    def close(self) -> None:
        """Drop the tables; Spark itself runs until the process ends, or `stop`."""
        with suppress(PySparkException):
            for name in (*TABLES, *NEWEST):
                self._spark.catalog.dropTempView(name)


def stop() -> None:
    """Stop this process's Spark, if any."""
    running = SparkSession.getActiveSession()
    if running is not None:
        running.stop()


def _session(master: str, limits: Limits) -> SparkSession:
    """A new session of the process's only Spark."""
    builder: Any = SparkSession.builder.appName("fleetprof").master(master)
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if match := _LOCAL.fullmatch(master):
        settings["spark.driver.memory"] = f"{limits.memory_bytes >> 20}m"
        settings["spark.driver.bindAddress"] = settings["spark.driver.host"] = "127.0.0.1"
        if match[2] and match[2] != "*":  # the default is two hundred partitions, nearly all of them empty
            settings["spark.sql.shuffle.partitions"] = match[2]
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _STARTING:
        first: SparkSession = builder.getOrCreate()
    first.sparkContext.setLogLevel("ERROR")
    return first.newSession()


def _types(schema: pa.Schema) -> StructType:
    """Spark's types of a table's columns, with the day of the folder."""
    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in schema
    ]
    return from_arrow_schema(pa.schema([*plain, pa.field("day", pa.date32())]))


def _path(lake: Lake, key: str) -> str:
    """A file's path for Spark: Hadoop has another scheme for S3."""
    path = lake.path(key)
    return f"file://{path}" if lake.local else re.sub(r"^s3://", "s3a://", path)


@contextmanager
def _errors() -> Iterator[None]:
    """Translate Spark errors to storage errors."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        query_budget.checkpoint()  # raises if the query was cancelled for another reason
        text = first_line(error)
        if "PATH_NOT_FOUND" in text or "FileNotFound" in str(error):
            raise LakeChanged(f"A file of the lake is missing or unreadable: {text}") from error
        raise LakeError(f"Spark failed: {text}") from error
    except (OSError, RuntimeError) as error:  # no Java, or no cluster at that address
        raise LakeUnavailable(f"Cannot connect to Spark or start it: {first_line(error)}") from error
