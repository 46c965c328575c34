"""DuckDB behind SQLAlchemy, as far as the store's own reading statements go.

The queries of the store are written once, for PostgreSQL; DuckDB's SQL is nearly the same. What differs is
rendered here, so that weights, labels and names come out of the lake by the very code that takes them out
of PostgreSQL. There is no reflection, no writing and no pool: one connection, one answer.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import duckdb
from sqlalchemy import Connection, create_engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.base import PGCompiler, PGDialect
from sqlalchemy.pool import StaticPool

from storage.errors import BadSelection
from storage.query.copy_binary import TooMuch
from storage.segments.errors import LakeBusy, LakeChanged, LakeDamaged, LakeError

NAME = "duckdb"


class _Compiler(PGCompiler):
    """SELECT statements in DuckDB's words."""

    def visit_any_op_unary_operator(self, element: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002 - SQLAlchemy's signature
        # `= ANY (list)` looks through the list for every row; of a subquery DuckDB makes a hash table.
        return f"ANY (SELECT unnest({self.process(element.element, **kw)}))"

    def visit_custom_op_binary(self, element: Any, operator: Any, **kw: Any) -> str:
        if operator.opstring == "@>":
            return f"json_contains({self.process(element.left, **kw)}, {self.process(element.right, **kw)})"
        if operator.opstring == "->>":
            # DuckDB would take a key that begins with $ or / for a path.
            labels, key = self.process(element.left, **kw), self.process(element.right, **kw)
            return f"(CAST({labels} AS MAP(VARCHAR, VARCHAR)))[{key}]"
        return str(super().visit_custom_op_binary(element, operator, **kw))  # type: ignore[no-untyped-call]  # SQLAlchemy leaves its compilers untyped

    def visit_now_func(self, fn: Any, **kw: Any) -> str:  # noqa: ARG002 - SQLAlchemy's signature
        return "(now() AT TIME ZONE 'UTC')"

    def render_bind_cast(self, type_: Any, dbapi_type: Any, sqltext: str) -> str:
        cast = super().render_bind_cast(type_, dbapi_type, sqltext)  # type: ignore[no-untyped-call]  # likewise
        return str(cast).replace("::JSONB", "::JSON")


class DuckDialect(PGDialect):
    """PostgreSQL's, where DuckDB does not differ."""

    name = NAME
    driver = NAME
    default_paramstyle = "qmark"
    statement_compiler = _Compiler
    supports_statement_cache = True
    supports_server_side_cursors = False

    @classmethod
    def import_dbapi(cls) -> Any:
        """What SQLAlchemy wants of a driver's module."""
        return SimpleNamespace(paramstyle="qmark", Error=duckdb.Error, connect=None)

    def initialize(self, connection: Connection) -> None:
        """Nothing: the server's version and settings are this program's."""

    def do_begin(self, dbapi_connection: Any) -> None:
        """Nothing: the files do not change."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Nothing."""

    def do_commit(self, dbapi_connection: Any) -> None:
        """Nothing."""


registry.register(NAME, __name__, DuckDialect.__name__)


class _Cursor:
    """A cursor of one statement, whose rows it fetches at once; times are UTC on both sides."""

    arraysize = 1
    rowcount = -1

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._rows: list[tuple[Any, ...]] = []
        self.description: Sequence[Any] | None = None

    def execute(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        with translated():
            self._connection.execute(sql, [bound(value) for value in parameters])
            self.description = self._connection.description
            self._rows = [tuple(map(_utc, row)) for row in self._connection.fetchall()][::-1]

    def fetchall(self) -> list[tuple[Any, ...]]:
        rows, self._rows = self._rows[::-1], []
        return rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows.pop() if self._rows else None

    def fetchmany(self, size: int = arraysize) -> list[tuple[Any, ...]]:
        return [self._rows.pop() for _ in range(min(size, len(self._rows)))]

    def close(self) -> None:
        self._rows, self.description = [], None


class _Driver:
    """A connection as SQLAlchemy wants drivers to have it."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.duckdb = connection

    def cursor(self) -> _Cursor:
        return _Cursor(self.duckdb)

    def close(self) -> None:
        """Its owner closes it."""


@contextmanager
def connected(connection: duckdb.DuckDBPyConnection) -> Iterator[Connection]:
    """SQLAlchemy's view of an open DuckDB; statements on it are answered one at a time."""
    engine = create_engine(
        f"{NAME}://", creator=lambda: _Driver(connection), poolclass=StaticPool, pool_reset_on_return=None
    )
    try:
        with engine.connect() as opened:
            yield opened
    finally:
        engine.dispose()


@contextmanager
def translated() -> Iterator[None]:
    """Errors of DuckDB inside become the store's."""
    try:
        yield
    except duckdb.InterruptException as error:
        raise LakeBusy("DuckDB took too long and was stopped.") from error
    except duckdb.OutOfMemoryException as error:
        raise TooMuch(
            "The selection needs more memory than FLEETPROF_LAKE_MEMORY_BYTES lets DuckDB have.",
            hint="Choose a shorter time range, add a matcher, or allow more.",
        ) from error
    except duckdb.CatalogException as error:
        raise BadSelection(
            "The lake does not keep what this question needs.",
            hint="Ask PostgreSQL, which keeps it for a shorter time.",
        ) from error
    except (duckdb.InvalidInputException, duckdb.ConversionException, duckdb.SerializationException) as error:
        raise LakeDamaged(f"A file of the lake is not what was written: {_first_line(error)}") from error
    except (duckdb.IOException, duckdb.HTTPException, FileNotFoundError) as error:
        raise LakeChanged(
            f"A file of the lake is not there any more, or not readable: {_first_line(error)}"
        ) from error
    except duckdb.Error as error:
        raise LakeError(f"DuckDB failed: {_first_line(error)}") from error


def bound(value: Any) -> Any:
    """A parameter as DuckDB is to have it: moments in UTC, which its columns are without saying so."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def _utc(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
