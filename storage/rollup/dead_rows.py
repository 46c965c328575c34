"""Vacuum `rollup`: every merge rewrites the cells of its hour and leaves the old rows dead.

Autovacuum's default clears a table when a fifth of its rows are dead. For a month of cells that is several times the
running hour, and until then each merge needs new pages. With frequent vacuums, merges reuse the pages that earlier
merges left.
"""

from collections.abc import Callable
from time import monotonic

import structlog
from sqlalchemy import Connection, Engine, text

from storage.errors import DatabaseError

FEWEST = 1000
"""Dead rows from which a vacuum pays: reading the changed pages takes milliseconds."""
SHARE = 0.02
"""Dead rows per live row from which a vacuum pays; below this PostgreSQL skips the indexes."""
VACUUM_S = 60.0
"""Longest vacuum. DDL on the table and a stopping collector wait for it."""
FIRST_WAIT_S = 30.0
"""Wait after a vacuum that removed little; it doubles after each further one."""
LONGEST_WAIT_S = 3600.0

_COUNTED = text(
    "SELECT pg_stat_get_dead_tuples(c.oid) AS dead,"
    " greatest(:fewest, :share * pg_stat_get_live_tuples(c.oid)) AS many,"
    " pg_has_role(c.relowner, 'USAGE') OR pg_has_role(d.datdba, 'USAGE')"
    " OR CASE WHEN current_setting('server_version_num')::int >= 170000"
    " THEN has_table_privilege(c.oid, 'MAINTAIN') ELSE false END AS may"
    " FROM pg_class c, pg_database d WHERE c.oid = 'rollup'::regclass AND d.datname = current_database()"
)
_VACUUM = text("VACUUM (SKIP_LOCKED, TRUNCATE FALSE, PARALLEL 0) rollup")
"""Includes the TOAST table, and skips the table while another vacuum holds it. Pages at the end are not truncated, as
that locks the table and they are reused within the hour."""

_log = structlog.get_logger("rolling")


class DeadRows:
    """Vacuums the dead rows of `rollup` and remembers how many could not be removed. Not thread-safe."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = monotonic) -> None:
        """`clock` returns seconds."""
        self._engine = engine
        self._clock = clock
        self._left = 0
        """Rows that the last vacuum left because some snapshot still sees them; the next one may have to leave them
        too."""
        self._wait_s = 0.0
        self._not_before = float("-inf")
        self._logged = False

    def clear(self) -> bool:
        """Vacuum if many rows have died since the last time; return False if there are few, or if it is too early.

        Readers and writers of rows neither wait for it nor delay it. It is cancelled after `VACUUM_S`. While a snapshot
        (a dump, an export, a prepared transaction) holds dead rows, the interval doubles up to `LONGEST_WAIT_S`. A role
        without the privilege to vacuum the table is logged once. Raises `DatabaseError`; `DatabaseBusy` if cancelled.
        The next vacuum then waits as after one that removed little.
        """
        if self._clock() < self._not_before:
            return False
        # VACUUM cannot run in a transaction.
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            dead, many, may = self._counted(connection)
            self._left = min(self._left, dead)  # other processes vacuum too
            died = dead - self._left
            if died < many:
                return False
            if not may:
                self._may_not()
                return False
            try:
                _vacuum(connection)
                left, _, _ = self._counted(connection)
            except DatabaseError:
                self._wait(dead)
                raise
            if 2 * (dead - left) >= died:
                self._left, self._wait_s = left, 0.0
            else:
                self._wait(left)
        return True

    @staticmethod
    def _counted(connection: Connection) -> tuple[int, float, bool]:
        """Dead rows; the number that counts as many; whether this role may vacuum."""
        row = connection.execute(_COUNTED, {"fewest": FEWEST, "share": SHARE}).one()
        return int(row.dead), float(row.many), bool(row.may)

    def _wait(self, left: int) -> None:
        self._left = left
        self._wait_s = min(max(2 * self._wait_s, FIRST_WAIT_S), LONGEST_WAIT_S)
        self._not_before = self._clock() + self._wait_s

    def _may_not(self) -> None:
        if not self._logged:
            _log.warning(
                "only autovacuum removes dead rows of merged cells: the database role lacks "
                "permission to vacuum",
                table="rollup",
            )
            self._logged = True


def _vacuum(connection: Connection) -> None:
    # SET LOCAL has no effect outside a transaction, and the connection returns to the pool.
    connection.execute(text(f"SET statement_timeout = {round(VACUUM_S * 1000)}"))
    try:
        connection.execute(_VACUUM)
    finally:
        if not connection.invalidated:
            connection.execute(text("RESET statement_timeout"))
