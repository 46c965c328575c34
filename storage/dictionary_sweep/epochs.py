"""The sweep's side of the dictionaries' epoch: to begin one, to be alone in it, to end marking.

Ingestions only share the epoch (`storage.ingest.dictionary_epoch`). Whoever wants it alone waits for the ingestions
under way, and those that would begin wait behind; so he waits briefly, and tries again.
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
"""Advisory lock of whoever sweeps or seals."""
_PATIENCE_MS = 1_000
"""How long ingestions are held up at most by one that takes longer."""
_TRIES = 120
_PAUSE_S = 0.5
"""Between tries, so that what piled up gets done: together a minute or two of trying."""


@contextmanager
def the_only_one(engine: Engine) -> Iterator[bool]:
    """Whether no other sweeps the dictionaries or seals stacks; none begins to before the block ends."""
    with engine.begin() as connection:
        yield bool(connection.scalar(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _LOCK}))


@contextmanager
def alone(engine: Engine, epoch: int | None = None) -> Iterator[Connection]:
    """A transaction in which nobody looks an id up or ingests.

    Raises `SweepOvertaken` if the epoch is not `epoch` any more, `DatabaseBusy` when ingestions leave no gap.
    """
    with engine.connect() as connection:
        now = _patiently(connection)
        if epoch is not None and now != epoch:
            connection.rollback()
            raise SweepOvertaken(f"The sweep of epoch {epoch} was overtaken by that of {now}.")
        yield connection
        connection.commit()


def begin(engine: Engine) -> tuple[int, dict[str, int]]:
    """Begin an epoch in which ids in use are noted; its number, and the highest id of every dictionary."""
    with alone(engine) as connection:
        number = connection.execute(
            update(dictionary_epoch)
            .values(epoch=dictionary_epoch.c.epoch + 1, marking=True)
            .returning(dictionary_epoch.c.epoch)
        ).scalar_one()
        # Noted in an epoch that is over: whoever relies on it looks up again before he ingests.
        connection.execute(text("TRUNCATE dictionary_touched"))
        highest = {
            name: int(connection.scalar(text(f'SELECT coalesce(max({key}), 0) FROM "{name}"')) or 0)  # noqa: S608 - names of the schema
            for name, (key, *_) in SWEPT.items()
            if name != "stack"
        }
        # Of stacks there is no index by id: no ingestion is under way, so later ones are noted or above this.
        block = connection.scalar(select(func.max(stack_block.c.block)))
        highest["stack"] = 0 if block is None else (block + 1) * SPAN - 1
    return number, highest


def end(engine: Engine, epoch: int, *, swept: bool) -> None:
    """Note ids no longer. `swept` to the end; otherwise the sweep stays due. Raises `SweepOvertaken`."""
    with alone(engine, epoch) as connection:
        connection.execute(text("TRUNCATE dictionary_touched"))
        when = {"swept_at": text("clock_timestamp()")} if swept else {}
        connection.execute(update(dictionary_epoch).values(marking=False, **when))


def is_due(connection: Connection, now: datetime, every: timedelta) -> bool:
    """Whether the last sweep is `every` ago, or did not come to its end."""
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
