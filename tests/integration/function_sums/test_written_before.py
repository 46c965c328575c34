"""GIVEN closed days that were written before cells counted by function WHEN they are asked, or the schema is upgraded THEN nothing is lost."""

from unittest.mock import patch

import pytest
import zstandard
from alembic import command
from sqlalchemy import Engine, delete, func, select, update

from storage import migrate
from storage.landing.columns import pack_many
from storage.query.cells.kept import KeptBlocks
from storage.query.cells.unmerged import read_visits
from storage.query.engine import QueryEngine
from storage.rolling import weighted_codec
from storage.rolling.compact import compact
from storage.schema import roll, roll_built, roll_weighted
from tests.integration.function_sums.asking import (
    AFTER_ALL,
    CLOSED,
    EPOCH,
    KERNEL,
    LATE,
    MAIN,
    MIDNIGHT,
    PAGES,
    WORK,
    asked,
    check_alike,
    minutes,
    seen,
    store_of,
    sums,
)

pytestmark = pytest.mark.integration


def test_closed_days_whose_cells_do_not_count_by_function_are_answered_by_stacks(
    engine: Engine, queries: QueryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those are that were built before cells did."""
    store = store_of(engine, [(MAIN, WORK), (MAIN, KERNEL)])
    store.land(seen((0, 3), (1, 5)))
    store.roll_all()
    compact(engine, LATE)
    selection = minutes(*CLOSED, campaign=store.campaign)
    check_alike(queries, selection, by_function=True)
    expected = sums(asked(queries, selection, PAGES[0]))
    written_before(engine)
    # What is kept has been read, and is not asked about before its rows are; else it is known before moments are read, or unpacked.
    assert sums(asked(queries, selection, PAGES[0], by_function=False)) == expected
    with (
        patch.object(KeptBlocks, "has", return_value=False),
        patch("storage.query.function_samples.sums_of", side_effect=AssertionError),
        patch("storage.query.cells.gathered.read_visits", wraps=read_visits) as read,
    ):
        found = asked(queries, selection, PAGES[0], by_function=False)
    assert read.call_count == 1
    assert sums(found) == expected


def written_before(engine: Engine) -> None:
    """Have all closed days as an older version wrote them."""
    with engine.begin() as connection:
        for row in connection.execute(select(roll_weighted).where(roll_weighted.c.moments.is_not(None))):
            connection.execute(
                update(roll_weighted)
                .where(
                    *(c == row._mapping[c.name] for c in roll_weighted.primary_key.columns),
                )
                .values(moments=_as_before(bytes(row.moments)))
            )


def apply_again(engine: Engine) -> None:
    """The revisions since that of building again, and that one, taken back and that one applied."""
    with engine.begin() as connection:
        config = migrate._config()
        config.attributes["connection"] = connection
        command.downgrade(config, "0002")
        command.upgrade(config, "0003")


def buckets(engine: Engine) -> list[tuple[int, int]]:
    """Levels and buckets that say that they hold all there is."""
    with engine.connect() as connection:
        found = connection.execute(select(roll_built.c.level, roll_built.c.bucket).distinct())
        return sorted((row.level, row.bucket) for row in found)


def test_the_upgrade_has_closed_days_built_again_that_do_not_count_by_function(
    engine: Engine, queries: QueryEngine
) -> None:
    store = store_of(engine, [(MAIN, WORK), (MAIN, KERNEL)])
    store.land(seen((0, 3), (1, 5)))
    store.roll_all()
    compact(engine, AFTER_ALL)
    selection = minutes(*CLOSED, campaign=store.campaign)
    expected = sums(asked(queries, selection, PAGES[0]))
    built = buckets(engine)
    assert {level for level, _ in built} == {1, 2, 3}
    apply_again(engine)
    assert buckets(engine) == built, "nothing is built again that counts"
    written_before(engine)
    apply_again(engine)
    assert buckets(engine) == []
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(roll_weighted)) == 0
    migrate.upgrade(engine.url.render_as_string(hide_password=False))
    assert sums(asked(queries, selection, PAGES[0])) == expected
    compact(engine, AFTER_ALL)
    assert buckets(engine) == built
    assert sums(asked(queries, selection, PAGES[0])) == expected


def test_the_upgrade_leaves_closed_days_whose_own_cells_are_gone(engine: Engine) -> None:
    store = store_of(engine, [(MAIN, WORK)])
    store.land(seen((0, 3)))
    store.roll_all()
    compact(engine, AFTER_ALL)
    built = buckets(engine)
    written_before(engine)
    with engine.begin() as connection:
        connection.execute(
            delete(roll).where(roll.c.level == 0, roll.c.bucket == MIDNIGHT.toordinal() + 1 - EPOCH)
        )
    apply_again(engine)
    assert buckets(engine) == built


def _as_before(blob: bytes) -> bytes:
    """A cell's moments as they were written before what is observed was kept."""
    parts = weighted_codec.decode([blob])
    head = list(weighted_codec.HEAD.unpack_from(blob))
    body = zstandard.decompress(blob[weighted_codec.HEAD.size + head[-1] :])
    frame = zstandard.compress(body[: 80 * len(parts.function)])  # machine bits stood beside the functions
    steps = [b - a for a, b in zip([0, *parts.function.tolist()], parts.function.tolist(), strict=False)]
    columns = (steps, parts.visits, parts.row_machines)
    (packed,) = pack_many(columns, parts.count)
    head[0], head[-1] = 1, len(packed)
    return weighted_codec.HEAD.pack(*head) + packed + frame
