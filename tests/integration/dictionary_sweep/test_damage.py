"""Stacks that cannot be read, or are not what they say, stop no sweep."""

from uuid import UUID, uuid4

import pytest
from sqlalchemy import Engine, func, select, update

from storage import stack_blocks
from storage.dictionary_sweep.sweep import sweep
from storage.ingest.interning import Interner
from storage.schema import (
    stack,
    stack_block,
)
from tests.dictionary_stacks import functions_by_stack, hashed_stacks
from tests.ingested import archived
from tests.integration.dictionary_sweep.ingestions import NEXT_DAY, broken, ingested, stored_stacks, vanish

pytestmark = pytest.mark.integration


@pytest.mark.usefixtures("small_blocks")
class TestDamage:
    def test_a_stack_with_another_hash_goes_all_the_same(
        self, engine: Engine, two_days: tuple[UUID, UUID]
    ) -> None:
        used = set(stored_stacks(engine, two_days[1]))
        with engine.begin() as connection:
            unused = select(func.min(stack.c.stack_id)).where(stack.c.stack_id.not_in(used))
            wrong = connection.execute(unused).scalar_one()
            connection.execute(update(stack).where(stack.c.stack_id == wrong).values(hash=uuid4()))
        assert sweep(engine) is not None
        assert broken(engine) == {}
        with engine.connect() as connection:
            assert set(connection.scalars(select(stack.c.stack_id))) == used

    def test_stacks_of_a_block_nobody_can_read_stay_and_others_go(
        self, engine: Engine, interner: Interner, two_days: tuple[UUID, UUID]
    ) -> None:
        [other] = archived(engine, drawn_at=NEXT_DAY)
        ingested(engine, interner, other, 3)
        vanish(engine, other)
        first = stack_block.c.first_id
        with engine.begin() as connection:
            before = set(functions_by_stack(connection))
            block = connection.execute(select(func.min(first))).scalar_one()
            connection.execute(update(stack_block).where(first == block).values(data=b"x"))
        swept = sweep(engine)
        assert swept is not None
        beside = {id_ for id_ in before if id_ // stack_blocks.SPAN == block // stack_blocks.SPAN}
        with engine.connect() as connection:
            hashed = hashed_stacks(connection)
            left = {row.first_id: bytes(row.data) for row in connection.execute(select(stack_block))}
        # None of a lost block is given to an ingestion again, which would have no functions of it.
        used = set(stored_stacks(engine, two_days[1]))
        assert hashed == used
        assert 0 < swept.freed["stack"] == len(before - used)
        assert left[block] == b"x"
        assert {id_ for id_ in left if id_ // stack_blocks.SPAN == block // stack_blocks.SPAN} >= {
            min(beside)
        }
