"""What merging leaves behind in `rollup`: every merge writes the cells of its hour anew, so the table holds what they were, too.

PostgreSQL clears a table of its own accord when a fifth of its rows are dead. Of a month of cells that is several times
the hour that goes on; until then each merge needs new pages for what it writes. Cleared as often as here, merging
writes to the pages that the merges before have left.
"""

from collections.abc import Callable
from time import monotonic

import structlog
from sqlalchemy import Connection, Engine, text

from storage.errors import DatabaseError

FEWEST = 1000
"""Dead rows for which it is worth the while: reading what has changed takes milliseconds."""
SHARE = 0.02
"""Dead rows for each that lives, below which PostgreSQL would leave a vacuum's indexes as they are."""
VACUUM_S = 60.0
"""Longest vacuum. Whoever changes the table's form waits for it, and so does a collector that is to stop."""
FIRST_WAIT_S = 30.0
"""After a vacuum that could remove little; twice as long after each further one."""
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
"""Its TOAST table as well. Not if another one is at it. Pages at the end are not given back, as that locks the table: they
are written to within the hour."""

_log = structlog.get_logger("rolling")


class DeadRows:
    """Makes room of the dead rows of `rollup`, and remembers what could not be removed. For one thread at a time."""

    def __init__(self, engine: Engine, *, clock: Callable[[], float] = monotonic) -> None:
        """`clock` gives seconds."""
        self._engine = engine
        self._clock = clock
        self._left = 0
        """Rows that the last vacuum found dead and some snapshot still sees: the next one may find them so again."""
        self._wait_s = 0.0
        self._not_before = float("-inf")
        self._said = False

    def clear(self) -> bool:
        """Vacuum if many rows have died since the last time; False: they are few, or it is too early.

        Nobody who reads or writes rows waits for it, and it waits for nobody; after `VACUUM_S` it is broken off. While
        a snapshot (a dump, an export, a prepared transaction) keeps what has died, the time between two
        doubles up to `LONGEST_WAIT_S`. A role that may not vacuum the table is logged once.
        Raises `DatabaseError`, `DatabaseBusy` if it was broken off; the next is as far away as after one in vain.
        """
        if self._clock() < self._not_before:
            return False
        # A vacuum is no part of a transaction.
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            dead, many, may = self._counted(connection)
            self._left = min(self._left, dead)  # others vacuum too
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
        """Dead rows; how many are many; whether this role may vacuum."""
        row = connection.execute(_COUNTED, {"fewest": FEWEST, "share": SHARE}).one()
        return int(row.dead), float(row.many), bool(row.may)

    def _wait(self, left: int) -> None:
        self._left = left
        self._wait_s = min(max(2 * self._wait_s, FIRST_WAIT_S), LONGEST_WAIT_S)
        self._not_before = self._clock() + self._wait_s

    def _may_not(self) -> None:
        if not self._said:
            _log.warning(
                "what merging leaves behind is cleared by autovacuum alone: the database role may not vacuum",
                table="rollup",
            )
            self._said = True


def _vacuum(connection: Connection) -> None:
    # Outside of a transaction there is no SET LOCAL; and the connection goes back to others.
    connection.execute(text(f"SET statement_timeout = {round(VACUUM_S * 1000)}"))
    try:
        connection.execute(_VACUUM)
    finally:
        if not connection.invalidated:
            connection.execute(text("RESET statement_timeout"))
