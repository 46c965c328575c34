"""The sweep's operations on the dictionary epoch: begin one, lock it exclusively, end marking.

Ingestions hold the epoch's lock in shared mode (`storage.ingest.dictionary_epoch`). An exclusive lock waits for running
ingestions and blocks new ones, so the sweep waits only briefly and retries.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine, func, select, text, update

from storage.dictionary_sweep.errors import SweepOvertaken
from storage.errors import DatabaseBusy
from storage.ingest.dictionary_epoch import hold_alone
from storage.ingest.interning import SWEPT
from storage.schema import dictionary_epoch, stack_block
from storage.stack_blocks import SPAN

_LOCK = 0x666C_6565_7405
"""Advisory lock of sweeps and of sealing."""
_PATIENCE_MS = 1_000
"""Maximum wait for a long ingestion, during which others are blocked."""
_TRIES = 120
_PAUSE_S = 0.5
"""Pause between attempts, in which blocked ingestions proceed; all attempts take a minute or two."""


@contextmanager
def the_only_one(engine: Engine) -> Iterator[bool]:
    """Whether no other process sweeps or seals; none starts to before the block ends."""
    with engine.begin() as connection:
        yield bool(connection.scalar(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _LOCK}))


@contextmanager
def alone(engine: Engine, epoch: int | None = None) -> Iterator[Connection]:
    """A transaction during which no ingestion or id lookup runs.

    Raises `SweepOvertaken` if the epoch is not `epoch` any more, `DatabaseBusy` if ingestions leave no gap.
    """
    with engine.connect() as connection:
        now = _patiently(connection)
        if epoch is not None and now != epoch:
            connection.rollback()
            raise SweepOvertaken(f"The sweep of epoch {epoch} was superseded by that of epoch {now}.")
        yield connection
        connection.commit()


def begin(engine: Engine) -> tuple[int, dict[str, int]]:
    """Begin an epoch in which used ids are recorded; return its number and the highest id of every dictionary."""
    with alone(engine) as connection:
        number = connection.execute(
            update(dictionary_epoch)
            .values(epoch=dictionary_epoch.c.epoch + 1, marking=True)
            .returning(dictionary_epoch.c.epoch)
        ).scalar_one()
        # These are from an earlier epoch; their ingestions look up their ids again.
        connection.execute(text("TRUNCATE dictionary_touched"))
        highest = {
            name: int(connection.scalar(text(f'SELECT coalesce(max({key}), 0) FROM "{name}"')) or 0)  # noqa: S608 - names of the schema
            for name, (key, *_) in SWEPT.items()
            if name != "stack"
        }
        # Stacks have no index by id. No ingestion is running, so later ids are recorded or above this bound.
        block = connection.scalar(select(func.max(stack_block.c.block)))
        highest["stack"] = 0 if block is None else (block + 1) * SPAN - 1
    return number, highest


def end(engine: Engine, epoch: int, *, swept: bool) -> None:
    """End the recording of ids. `swept`: the sweep completed; otherwise it stays due. Raises `SweepOvertaken`."""
    with alone(engine, epoch) as connection:
        connection.execute(text("TRUNCATE dictionary_touched"))
        when = {"swept_at": text("clock_timestamp()")} if swept else {}
        connection.execute(update(dictionary_epoch).values(marking=False, **when))


def is_due(connection: Connection, now: datetime, every: timedelta) -> bool:
    """Whether the last sweep was at least `every` ago, or did not complete."""
    row = connection.execute(select(dictionary_epoch.c.marking, dictionary_epoch.c.swept_at)).one()
    return row.marking or row.swept_at is None or row.swept_at <= now - every


def _patiently(connection: Connection) -> int:
    for tries in range(1, _TRIES + 1):
        connection.execute(text(f"SET LOCAL lock_timeout = {_PATIENCE_MS}"))
        try:
            number = hold_alone(connection).number
        except DatabaseBusy:
            connection.rollback()
            if tries == _TRIES:
                raise
            time.sleep(_PAUSE_S)
        else:
            connection.execute(text("SET LOCAL lock_timeout = DEFAULT"))
            return number
    raise AssertionError("not reached")
