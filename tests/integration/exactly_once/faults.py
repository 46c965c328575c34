"""Crashes at commits: the one place every transaction of an engine passes.

Four things can happen to a commit besides success. Its process may die before or after it; or its
connection may break, before the server did it, or after, so that the process lives on, with all it
remembers, and does not know which.
"""

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import psycopg2
from sqlalchemy import Engine

DIED = 3
"""Exit status of a process that died after a commit."""
CRASHED = frozenset({DIED, -signal.SIGKILL})
"""Ends of processes that were meant to die, as `os.waitstatus_to_exitcode` tells them."""


class Fault(StrEnum):
    """What happens to a commit."""

    DIES_BEFORE = "the process dies before the commit"
    DIES_AFTER = "the process dies after the commit"
    BREAKS_BEFORE = "the connection breaks before the commit"
    BREAKS_AFTER = "the connection breaks after the commit"

    @property
    def is_fatal(self) -> bool:
        """Whether the process ends."""
        return self in {Fault.DIES_BEFORE, Fault.DIES_AFTER}


@dataclass(frozen=True, slots=True)
class Plan:
    """Which commit of an engine meets what; commits count from 1."""

    fault: Fault
    at: int


class Commits:
    """Counts the commits of an engine and brings the planned fault about."""

    def __init__(self, engine: Engine, plan: Plan | None = None) -> None:
        self.count = 0
        self.faults = 0
        self._plan = plan
        self._commit: Callable[[Any], None] = engine.dialect.do_commit
        engine.dialect.do_commit = self._counted  # type: ignore[method-assign,assignment]  # every commit passes here

    def plan(self, plan: Plan) -> None:
        """Count anew, with another plan."""
        self.count, self._plan = 0, plan

    def _counted(self, connection: Any) -> None:
        self.count += 1
        fault = self._plan.fault if self._plan is not None and self.count == self._plan.at else None
        self.faults += fault is not None
        if fault is Fault.DIES_BEFORE:
            os.kill(os.getpid(), signal.SIGKILL)
        if fault is not Fault.BREAKS_BEFORE:
            self._commit(connection)
        if fault is Fault.DIES_AFTER:
            os._exit(DIED)
        if fault is not None:
            connection.dbapi_connection.close()
            raise psycopg2.OperationalError("server closed the connection unexpectedly")
