"""Several captures in one transaction: the same rows as one by one, whatever is wrong with a neighbour."""

import os
import random
from datetime import date
from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select, text

from storage import captures, partitions
from storage.database import open_engine
from storage.errors import BadCapture, PartitionMissing
from storage.ingest import binary_images
from storage.ingest.binary_images import image_of
from storage.ingest.errors import UnknownCapture
from storage.ingest.ingest import ToIngest, ingest, ingest_many
from storage.ingest.interning import Interner
from storage.schema import binary, capture, capture_segment, function, profile, rollup_queue, stack
from symbolizer.worker.ingestion import TRANSIENT_ERRORS
from tests.dictionary_stacks import functions_by_stack
from tests.ingested import BEFORE_MIDNIGHT, archived, queued, stored
from tests.synthetic_captures import (
    SyntheticCapture,
    expected_stacks,
    expected_units,
    named,
    nameless,
    random_capture,
)

pytestmark = pytest.mark.integration


def to_ingest(visit_id: UUID, seed: int, *, generation: int = 1, **shape: int) -> ToIngest:
    return ToIngest(
        visit_id, generation, *random_capture(visit_id, seed, resolved_better=generation > 1, **shape)
    )


@pytest.mark.slow
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.integers(2, 200)), min_size=1, max_size=6))
def test_a_batch_is_its_captures_one_by_one(engine: Engine, shapes: list[tuple[int, int, int]]) -> None:
    together, alone = archived(engine, len(shapes)), archived(engine, len(shapes))
    interner = Interner(engine)
    items = [
        to_ingest(visit_id, seed, groups=groups, depth=depth)
        for visit_id, (seed, groups, depth) in zip(together, shapes, strict=True)
    ]
    results = ingest_many(engine, interner, items)
    for visit_id, (seed, groups, depth), item, result in zip(alone, shapes, items, results, strict=True):
        message, resolved = random_capture(visit_id, seed, groups=groups, depth=depth)
        assert ingest(engine, Interner(engine), visit_id, 1, message, resolved) == result
        found = stored(engine, item.visit_id)
        assert found == stored(engine, visit_id)
        assert found.units == sum(expected_units(message).values())
        if depth <= 64:  # deeper ones have daily rollups
            assert found.stacks == expected_stacks(message, resolved)
        assert queued(engine, [item.visit_id])[item.visit_id] == [(1, 0)]


def test_the_whole_store_is_the_sum_over_the_captures(engine: Engine) -> None:
    ids = archived(engine, 9)
    interner = Interner(engine)
    items = [to_ingest(visit_id, seed) for seed, visit_id in enumerate(ids)]
    for start in range(0, 9, 4):
        ingest_many(engine, interner, items[start : start + 4])
    with engine.connect() as connection:
        units = connection.scalar(select(func.sum(profile.c.samples * profile.c.period)))
        stacks = connection.execute(
            select(func.count(), func.count(stack.c.hash.distinct()), func.count(stack.c.stack_id.distinct()))
        ).one()
        functions = functions_by_stack(connection).values()
        assert connection.scalar(select(func.count()).select_from(rollup_queue)) == 9
    assert units == sum(sum(expected_units(item.capture).values()) for item in items)
    assert set(stacks) == {len(functions)}, "a stack is one row, with one hash"
    assert len({tuple(one) for one in functions}) == len(functions)


def test_stacks_that_are_there_use_up_no_numbers(engine: Engine) -> None:
    """Ids have 31 bits: a worker that starts anew asks for everything it meets, day after day."""
    first, *others = archived(engine, 4)
    ingest(engine, Interner(engine), first, 1, *random_capture(first, 1))
    with engine.connect() as connection:
        taken = connection.scalar(text("SELECT last_value FROM stack_stack_id_seq"))
        assert taken == connection.scalar(select(func.count()).select_from(stack))
    for visit_id in others:
        ingest(engine, Interner(engine), visit_id, 1, *random_capture(visit_id, 1))
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT last_value FROM stack_stack_id_seq")) == taken


def test_one_of_each_kind_of_trouble_harms_no_other(engine: Engine) -> None:
    good, twice, contrary, idle = archived(engine, 4)
    [late] = archived(engine, 1, drawn_at=BEFORE_MIDNIGHT.replace(month=12), partition=False)
    ingest(engine, Interner(engine), twice, 1, *random_capture(twice, 2))
    message, _ = random_capture(contrary, 3)
    watched = SyntheticCapture(idle)
    watched.segment({})
    stranger = uuid4()
    items = [
        to_ingest(good, 1),
        to_ingest(twice, 2),
        ToIngest(contrary, 1, message, SyntheticCapture(contrary).finished()[1]),
        ToIngest(idle, 1, *watched.finished()),
        to_ingest(late, 5),
        to_ingest(stranger, 6),
    ]
    results = ingest_many(engine, Interner(engine), items)
    assert [result.outcome for result in results] == [
        "ingested",
        "already",
        "failed",
        "ingested",
        "failed",
        "failed",
    ]
    assert [type(result.error) for result in results if result.error] == [
        ValueError,
        PartitionMissing,
        UnknownCapture,
    ]
    assert stored(engine, good).stacks == expected_stacks(*random_capture(good, 1))
    assert queued(engine, [good, twice, contrary, idle]) == {
        good: [(1, 0)], twice: [(1, 0)], contrary: [], idle: [(1, 0)],
    }  # fmt: skip
    with engine.begin() as connection:
        assert {due.visit_id for due in captures.due(connection, limit=9)} == {contrary, late}
        partitions.ensure(connection, [date(2026, 12, 20)])
    again = ingest_many(
        engine, Interner(engine), [ToIngest(contrary, 1, *random_capture(contrary, 3)), items[4]]
    )
    assert [result.outcome for result in again] == ["ingested", "ingested"]


def in_many_letters(visit_id: UUID) -> ToIngest:
    """A capture whose one image has a path that a btree cannot hold, nor make smaller."""
    letters = random.Random(1)
    made = SyntheticCapture(visit_id)
    path = "/" + "".join(chr(letters.randrange(0x4E00, 0x9FA5)) for _ in range(1024))
    frame = made.frame(made.mapping(path), (named("f"), 1))
    key = image_of(made.finished()[0], made.message.mappings[0]).key
    other = made.frame(0, (nameless(64, key=key), 0))
    made.segment({made.group(): {made.stack([frame, other]): 5}})
    return ToIngest(visit_id, 1, *made.finished())


def test_a_path_in_any_script_ingests(engine: Engine) -> None:
    [visit_id] = archived(engine)
    item = in_many_letters(visit_id)
    assert ingest(engine, Interner(engine), visit_id, 1, item.capture, item.resolved).samples == 5
    with engine.connect() as connection:
        rows = connection.execute(
            select(binary.c.path, function.c.binary_key).join(function, function.c.binary_key == binary.c.key)
        ).all()
    assert [row.path for row in rows] == [item.capture.strings[item.capture.mappings[0].path]]


def test_a_row_that_postgresql_can_never_hold_is_one_captures_failure(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary_images, "_MAX_KEY", 10_000)
    good, bad = archived(engine, 2)
    results = ingest_many(engine, Interner(engine), [to_ingest(good, 1), in_many_letters(bad)])
    assert [result.outcome for result in results] == ["ingested", "failed"]
    assert "index row" in str(results[1].error)
    assert not isinstance(results[1].error, TRANSIENT_ERRORS), "it counts as an attempt, and comes to an end"


def test_a_capture_of_another_visit_fails_alone(engine: Engine) -> None:
    first, second = archived(engine, 2)
    results = ingest_many(
        engine, Interner(engine), [to_ingest(first, 1), ToIngest(second, 1, *random_capture(first, 1))]
    )
    assert results[0].outcome == "ingested"
    assert isinstance(results[1].error, BadCapture)


def test_a_visit_twice_in_a_batch_is_a_mistake_and_ingests_once(engine: Engine) -> None:
    [visit_id] = archived(engine)
    results = ingest_many(engine, Interner(engine), [to_ingest(visit_id, 1), to_ingest(visit_id, 1)])
    assert [result.outcome for result in results] == ["ingested", "already"]


def test_generations_of_a_batch_are_each_ones_own(engine: Engine) -> None:
    old, new, merged = archived(engine, 3)
    interner = Interner(engine)
    ingest_many(engine, interner, [to_ingest(new, 1), to_ingest(merged, 2)])
    units = stored(engine, merged).units
    with engine.begin() as connection:
        connection.execute(rollup_queue.delete().where(rollup_queue.c.visit_id == merged))
    ingest_many(
        engine,
        interner,
        [to_ingest(old, 0), to_ingest(new, 1, generation=2), to_ingest(merged, 2, generation=3)],
    )
    assert [stored(engine, visit_id).generation for visit_id in (old, new, merged)] == [1, 2, 3]
    assert queued(engine, [old, new, merged]) == {
        old: [(1, 0)], new: [(1, 0)], merged: [(-1, units), (1, 0)],
    }  # fmt: skip
    for visit_id, seed in ((new, 1), (merged, 2)):
        assert stored(engine, visit_id).stacks == expected_stacks(
            *random_capture(visit_id, seed, resolved_better=True)
        )


def test_batches_of_several_days(engine: Engine) -> None:
    [today] = archived(engine)
    [tomorrow] = archived(engine, drawn_at=BEFORE_MIDNIGHT.replace(day=21))
    ingest_many(engine, Interner(engine), [to_ingest(tomorrow, 1), to_ingest(today, 2)])
    with engine.connect() as connection:
        days = connection.execute(select(capture_segment.c.visit_id, capture_segment.c.day).distinct()).all()
    assert dict(map(tuple, days)) == {today: date(2026, 11, 20), tomorrow: date(2026, 11, 21)}


def test_workers_with_the_same_captures_in_other_orders_ingest_each_once(
    engine: Engine, database_url: str
) -> None:
    """No deadlock: whoever comes second waits for the first of his captures, holding none the first wants."""
    ids = archived(engine, 12)
    seeds = {visit_id: seed % 5 for seed, visit_id in enumerate(ids)}
    children = []
    for order in (ids, ids[::-1], ids[6:] + ids[:6]):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                own = open_engine(database_url, application="ingester")
                results = ingest_many(
                    own, Interner(own), [to_ingest(visit_id, seeds[visit_id]) for visit_id in order]
                )
                status = 0 if {result.outcome for result in results} <= {"ingested", "already"} else 2
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    for visit_id in ids:
        assert stored(engine, visit_id).stacks == expected_stacks(*random_capture(visit_id, seeds[visit_id]))
        assert queued(engine, [visit_id])[visit_id] == [(1, 0)]
    with engine.connect() as connection:
        assert connection.scalars(select(capture.c.ingested).distinct()).all() == [1]
