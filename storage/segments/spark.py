"""The SQL of segments on Spark: the same text as DuckDB's, in Spark's dialect, on a cluster or on threads of this process.

It needs PySpark, and Java 17 or later. Workers of a cluster read the lake's files themselves, so its URL must mean the same there.
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
"""Between tries to cancel what runs."""
_TOO_LONG = "Spark took too long and was stopped."


def master_of(url: str) -> str:
    """Spark's own name of the engine at a URL: of `spark://HOST:PORT` the URL, else what is behind `spark://`: `local[2]`, `yarn`, `k8s://…`."""
    rest = url.removeprefix("spark://")
    return rest if _LOCAL.fullmatch(rest) or rest == "yarn" or rest.startswith("k8s://") else url


@lru_cache(maxsize=256)
def translated(sql: str) -> str:
    """Spark's words for a SELECT in DuckDB's."""
    tree = sqlglot.parse_one(sql, read="duckdb")
    for call in list(tree.find_all(exp.Anonymous)):
        if call.name.lower() == "epoch_us":
            call.replace(exp.Anonymous(this="unix_micros", expressions=call.expressions))
    return str(tree.sql("spark"))


class SparkStatements:
    """A session of Spark over some days as `storage.segments.session.Statements`."""

    def __init__(self, url: str, lake: Lake, manifests: Sequence[Manifest], limits: Limits) -> None:
        """`limits.memory_bytes` are the driver's, where no Spark runs in this process yet."""
        self._group, self._late = "", Event()
        with _errors():
            self._spark = _session(master_of(url), limits)
            for name, schema in TABLES.items():
                paths = [_path(lake, key) for manifest in manifests for key in manifest.keys(name)]
                # With a schema no file is opened before a statement needs it.
                read = self._spark.read.schema(_types(schema)).option("basePath", _path(lake, name))
                files = read.parquet(*paths)
                files.selectExpr("*", "_metadata.file_path AS filename").createOrReplaceTempView(name)
            for name, sql in NEWEST.items():
                self._spark.sql(translated(sql)).createOrReplaceTempView(name)

    def table(self, sql: str, given: Sequence[int], tables: Mapping[str, Columns]) -> pa.Table:
        """The rows of a SELECT, as `Statements.table`."""
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
        """Jobs of the block are cancelled after so many seconds."""
        self._group = f"fleetprof-{next(_GROUPS)}"
        ended, self._late = Event(), Event()

        def watch() -> None:
            if not ended.wait(timeout_s):
                self._late.set()
                while not ended.wait(_LOOK_S):  # a statement may have been between two jobs
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
        """Forget the tables; Spark itself runs on for later questions until the process ends, or `stop`."""
        with suppress(PySparkException):
            for name in (*TABLES, *NEWEST):
                self._spark.catalog.dropTempView(name)


def stop() -> None:
    """End the Spark of this process, if there is one."""
    running = SparkSession.getActiveSession()
    if running is not None:
        running.stop()


def _session(master: str, limits: Limits) -> SparkSession:
    """A session of its own, of the one Spark that a process has."""
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
        if match[2] and match[2] != "*":  # of two hundred partitions, its default, all but a few are empty
            settings["spark.sql.shuffle.partitions"] = match[2]
    for name, value in settings.items():
        builder = builder.config(name, value)
    with _STARTING:
        first: SparkSession = builder.getOrCreate()
    first.sparkContext.setLogLevel("ERROR")
    return first.newSession()


def _types(schema: pa.Schema) -> StructType:
    """Spark's types of a table's columns, the day of its folder besides."""
    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in schema
    ]
    return from_arrow_schema(pa.schema([*plain, pa.field("day", pa.date32())]))


def _path(lake: Lake, key: str) -> str:
    """Where Spark finds a file: Hadoop calls S3 by another name."""
    path = lake.path(key)
    return f"file://{path}" if lake.local else re.sub(r"^s3://", "s3a://", path)


@contextmanager
def _errors() -> Iterator[None]:
    """Errors of Spark inside become the store's."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        query_budget.checkpoint()  # the question may be over for reasons of its own
        text = first_line(error)
        if "PATH_NOT_FOUND" in text or "FileNotFound" in str(error):
            raise LakeChanged(f"A file of the lake is not there any more, or not readable: {text}") from error
        raise LakeError(f"Spark failed: {text}") from error
    except (OSError, RuntimeError) as error:  # no Java, or no cluster at that address
        raise LakeUnavailable(f"Spark cannot be reached or started: {first_line(error)}") from error
