"""Ingestion on a real PostgreSQL: every capture's facts once, whatever is repeated, late or replaced."""

import os
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from uuid import UUID, uuid4

import pytest
from sqlalchemy import ColumnElement, Connection, Engine, delete, func, select, text, update

from fleetpb import capture_pb2
from storage import captures, inventory, partitions
from storage.database import open_engine
from storage.errors import BadCapture, PartitionMissing
from storage.ingest import profile_labels
from storage.ingest.errors import UnknownCapture
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from storage.ingest.process_labels import Labels
from storage.inventory import NewMachine
from storage.schema import (
    capture,
    capture_binary,
    capture_counter,
    capture_cpu,
    capture_segment,
    chunk,
    dim_value,
    function,
    label_set,
    machine,
    profile,
    rollup_queue,
)
from tests.ingested import BEFORE_MIDNIGHT, DAY, archived, queued, stored
from tests.synthetic_captures import (
    PERIOD,
    SyntheticCapture,
    expected_stacks,
    expected_units,
    named,
    random_capture,
)

pytestmark = pytest.mark.integration

DEADLINE_S = 30.0


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.02)


def test_what_was_sampled_is_what_is_stored(engine: Engine) -> None:
    [visit_id] = archived(engine)
    message, resolved = random_capture(visit_id, 1)
    result = ingest(engine, Interner(engine), visit_id, 1, message, resolved)
    facts = stored(engine, visit_id)
    assert facts.stacks == expected_stacks(message, resolved)
    assert facts.units == sum(expected_units(message).values())
    assert (result.outcome, result.profiles, result.samples) == (
        "ingested",
        facts.profiles,
        facts.stacks.total(),
    )
    assert queued(engine, [visit_id])[visit_id] == [(1, 0)]
    with engine.connect() as connection:
        assert captures.due(connection, limit=9) == []


def test_a_second_ingestion_changes_nothing(engine: Engine) -> None:
    [visit_id] = archived(engine)
    message, resolved = random_capture(visit_id, 1)
    ingest(engine, Interner(engine), visit_id, 1, message, resolved)
    before = stored(engine, visit_id)
    assert ingest(engine, Interner(engine), visit_id, 1, message, resolved).outcome == "already"
    assert stored(engine, visit_id) == before


def test_groups_with_equal_labels_are_one_profile_and_segments_are_not(engine: Engine) -> None:
    """Two kworkers are one application; two stretches of one event keep their periods apart."""
    [visit_id] = archived(engine)
    message, resolved = random_capture(visit_id, 3, groups=2)
    ingest(engine, Interner(engine), visit_id, 1, message, resolved)
    with engine.connect() as connection:
        rows = connection.execute(
            select(profile.c.segment, profile.c.period, dim_value.c.value, profile.c.stacks)
            .join(dim_value, dim_value.c.value_id == profile.c.application)
            .order_by(profile.c.segment, dim_value.c.value)
        ).all()
    cpu = ["[kworker]", "app0", "app1"]
    assert [(row.segment, row.period, row.value, row.stacks) for row in rows] == [
        *((0, PERIOD, name, True) for name in cpu),
        *((1, 2 * PERIOD, name, True) for name in cpu),
        (2, 1, "app0", False),
    ]


def test_the_day_is_the_draws_however_late_the_capture_is_ingested(engine: Engine) -> None:
    [visit_id] = archived(engine)
    with engine.begin() as connection:
        partitions.ensure(connection, [date(2026, 11, 21), date(2026, 11, 22)])
    message, resolved = random_capture(visit_id, 1)
    message.window.wall_start_ns = int(datetime(2026, 11, 22, tzinfo=UTC).timestamp()) * 10**9
    ingest(engine, Interner(engine), visit_id, 1, message, resolved)
    with engine.connect() as connection:
        for table in (profile, chunk, capture_segment, capture_binary):
            assert connection.scalars(select(table.c.day).distinct()).all() == [DAY]
        assert connection.scalars(select(profile.c.hour).distinct()).all() == [
            int(BEFORE_MIDNIGHT.timestamp()) // 3600
        ]


def test_a_machine_that_moved_since_is_ingested_again_where_it_was(engine: Engine) -> None:
    """The inventory of today says nothing about the visit of yesterday."""
    with engine.begin() as connection:
        inventory.add(connection, NewMachine("m", "h:1"))
        connection.execute(update(machine).values(kernel="6.1"))
    [visit_id] = archived(engine, machine=NewMachine("m", "h:1", cluster="old"))
    interner = Interner(engine)
    message, resolved = random_capture(visit_id, 5)
    message.machine.kernel_release = ""
    for generation in (1, 2):
        ingest(engine, interner, visit_id, generation, message, resolved)
        with engine.begin() as connection:
            assert _values(connection, profile.c.cluster) == {"old"}
            assert _values(connection, profile.c.kernel) == {"6.1"}
            connection.execute(update(machine).values(cluster="new", kernel="6.12"))


def _values(connection: Connection, column: ColumnElement[int]) -> set[str]:
    return set(connection.scalars(select(dim_value.c.value).join(profile, column == dim_value.c.value_id)))


def test_a_newer_generation_replaces_and_never_adds(engine: Engine) -> None:
    [visit_id] = archived(engine)
    old, new = random_capture(visit_id, 5), random_capture(visit_id, 5, resolved_better=True)
    interner = Interner(engine)
    ingest(engine, interner, visit_id, 1, *old)
    ingest(engine, interner, visit_id, 2, *new)
    facts = stored(engine, visit_id)
    assert facts.generation == 2
    assert facts.stacks == expected_stacks(*new)
    assert facts.stacks.total() == expected_stacks(*old).total()
    assert facts.units == sum(expected_units(old[0]).values())
    assert queued(engine, [visit_id])[visit_id] == [(1, 0)], (
        "nothing was merged, so nothing is to be taken out"
    )
    assert ingest(engine, interner, visit_id, 1, *old).outcome == "already"
    assert stored(engine, visit_id) == facts


def test_what_was_merged_is_taken_out_exactly(engine: Engine) -> None:
    [visit_id] = archived(engine)
    interner = Interner(engine)
    old, new = random_capture(visit_id, 5), random_capture(visit_id, 5, resolved_better=True)
    ingest(engine, interner, visit_id, 1, *old)
    units = stored(engine, visit_id).units
    _merge(engine, visit_id)
    ingest(engine, interner, visit_id, 2, *new)
    assert queued(engine, [visit_id])[visit_id] == [(-1, units), (1, 0)]
    ingest(engine, interner, visit_id, 3, *old)  # before anyone merged: one −, one +
    entries = queued(engine, [visit_id])[visit_id]
    assert entries == [(-1, units), (1, 0)]


def test_a_merge_under_way_ends_before_its_rows_are_replaced(engine: Engine, database_url: str) -> None:
    [visit_id] = archived(engine)
    old, new = random_capture(visit_id, 5), random_capture(visit_id, 5, resolved_better=True)
    ingest(engine, Interner(engine), visit_id, 1, *old)
    units = stored(engine, visit_id).units
    with engine.begin() as merging:
        merging.execute(delete(rollup_queue).where(rollup_queue.c.visit_id == visit_id))
        child = _forked(lambda: _ingest_with(database_url, visit_id, 2, new))
        wait_until(lambda: _waiting(engine) == 1, "the ingestion waits for the merge")
        seen = merging.scalars(
            select(func.count()).select_from(profile).where(profile.c.generation == 1)
        ).one()
        assert seen > 0, "the merge reads what it took from the queue"
    assert _ended(child) == 0
    assert queued(engine, [visit_id])[visit_id] == [(-1, units), (1, 0)]
    assert stored(engine, visit_id).stacks == expected_stacks(*new)


@pytest.mark.slow
def test_a_changed_label_rule_neither_ingests_twice_nor_leaves_old_profiles(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    [visit_id] = archived(engine)
    message, resolved = random_capture(visit_id, 5)
    ingest(engine, Interner(engine), visit_id, 1, message, resolved)
    before = stored(engine, visit_id)

    def renamed(capture: capture_pb2.Capture, group: capture_pb2.ProcessGroup) -> Labels:
        return Labels(f"new{group.exe % 2}", "", "", "", "", "", "", {})

    monkeypatch.setattr(profile_labels, "derive", renamed)
    assert ingest(engine, Interner(engine), visit_id, 1, message, resolved).outcome == "already"
    assert stored(engine, visit_id) == before
    ingest(engine, Interner(engine), visit_id, 2, message, resolved)
    after = stored(engine, visit_id)
    assert after.stacks == before.stacks
    assert after.units == before.units
    assert after.profiles < before.profiles


def test_a_capture_whose_day_was_dropped_expires(engine: Engine) -> None:
    [visit_id] = archived(engine)
    message, resolved = random_capture(visit_id, 1)
    with engine.begin() as connection:
        partitions.ensure(connection, [date(2026, 12, 24)])
        partitions.drop(connection, date(2026, 12, 24))
    assert ingest(engine, Interner(engine), visit_id, 1, message, resolved).outcome == "expired"
    assert ingest(engine, Interner(engine), visit_id, 1, message, resolved).outcome == "already"
    with engine.connect() as connection:
        assert captures.due(connection, limit=9) == []
        row = connection.execute(select(capture)).one()
        assert (row.expired, row.ingested, row.quarantined) == (True, 1, None)
        assert connection.scalar(select(func.count()).select_from(capture_binary)) == 0


def test_a_day_dropped_between_generations_expires_and_leaves_no_queue(engine: Engine) -> None:
    [visit_id] = archived(engine)
    message, resolved = random_capture(visit_id, 1)
    ingest(engine, Interner(engine), visit_id, 1, message, resolved)
    with engine.begin() as connection:
        partitions.ensure(connection, [date(2026, 12, 24)])
        partitions.drop(connection, date(2026, 12, 24))
    assert ingest(engine, Interner(engine), visit_id, 2, message, resolved).outcome == "expired"
    assert queued(engine, [visit_id])[visit_id] == []


def test_a_day_whose_partitions_are_not_made_yet_is_an_error_to_repeat(engine: Engine) -> None:
    [visit_id] = archived(engine, partition=False)
    message, resolved = random_capture(visit_id, 1)
    with pytest.raises(PartitionMissing):
        ingest(engine, Interner(engine), visit_id, 1, message, resolved)
    with engine.begin() as connection:
        assert [due.visit_id for due in captures.due(connection, limit=9)] == [visit_id]
        partitions.ensure(connection, [DAY])
    assert ingest(engine, Interner(engine), visit_id, 1, message, resolved).outcome == "ingested"


def test_an_idle_machine_was_watched_too(engine: Engine) -> None:
    [visit_id] = archived(engine)
    made = SyntheticCapture(visit_id)
    made.segment({})
    made.message.segments.add(event=made.text("cycles"), support=capture_pb2.SUPPORT_UNSUPPORTED, errno=2)
    message, resolved = made.finished()
    assert ingest(engine, Interner(engine), visit_id, 1, message, resolved).outcome == "ingested"
    with engine.connect() as connection:
        rows = connection.execute(select(capture_segment).order_by(capture_segment.c.segment)).all()
    assert [
        (row.event, row.status, row.seconds, row.samples, row.sample_type_id is None) for row in rows
    ] == [
        ("cpu", "ok", 5.0, 0, False),
        ("cycles", "unsupported", 0.0, 0, True),
    ]
    assert queued(engine, [visit_id])[visit_id] == [(1, 0)], "its seconds are exposure"
    _merge(engine, visit_id)
    ingest(engine, Interner(engine), visit_id, 2, message, resolved)
    assert queued(engine, [visit_id])[visit_id] == [(-1, 0), (1, 0)], (
        "they leave the cells and enter them again"
    )


def test_a_visit_that_watched_nothing_is_no_exposure(engine: Engine) -> None:
    [visit_id] = archived(engine)
    made = SyntheticCapture(visit_id)
    made.message.segments.add(event=made.text("cycles"), support=capture_pb2.SUPPORT_DENIED, errno=13)
    assert ingest(engine, Interner(engine), visit_id, 1, *made.finished()).outcome == "ingested"
    assert queued(engine, [visit_id])[visit_id] == []


def test_cpus_counters_and_binaries_ingest_beside_and_are_replaced_too(engine: Engine) -> None:
    [visit_id] = archived(engine)
    made = SyntheticCapture(visit_id)
    app, library = (
        made.mapping("/usr/bin/app", build_id=b"\x01"),
        made.mapping("/lib/odd.so", content_key="go:x"),
    )
    leaf, main = made.frame(library, (named("f", binary="odd.so"), 1)), made.frame(app, (named("main"), 2))
    group = made.group()
    made.segment({group: {made.stack([leaf, leaf, main]): 4, made.stack([main]): 3}})
    message = made.message
    message.cpus.add(cpu=3, core=-1, package=0, numa_node=0, user_ms=2**32 - 1)
    for value, running in ((5, 10), (7, 5)):
        reading = message.counters.add(cpu=-1, group=group + 1, time_enabled_ns=10, time_running_ns=running)
        reading.counters.add(name=made.text("cycles"), support=capture_pb2.SUPPORT_OK, value=value)
        reading.counters.add(name=made.text("llc"), support=capture_pb2.SUPPORT_DENIED, errno=13, value=99)
    message, resolved = made.finished()
    for generation in (1, 2):
        ingest(engine, Interner(engine), visit_id, generation, message, resolved)
        with engine.connect() as connection:
            [cpu] = connection.execute(select(capture_cpu)).all()
            assert (cpu.cpu, cpu.core, cpu.package, cpu.user_ms, cpu.mhz) == (3, None, 0, 2**31 - 1, None)
            counters = connection.execute(select(capture_counter).order_by("reading", "name")).all()
            assert [(c.reading, c.name, c.status, c.value, c.scaled) for c in counters] == [
                (0, "cycles", "ok", 12, 19.0), (0, "llc", "denied", None, None),
            ]  # fmt: skip
            assert counters[0].application > 0
            assert (counters[0].time_enabled_ns, counters[0].time_running_ns) == (20, 15)
            binaries = connection.execute(
                text(
                    "SELECT key, samples, unresolved, cpu_ns, unresolved_cpu_ns FROM capture_binary"
                    ' JOIN "binary" USING (binary_id) ORDER BY key'
                )
            ).all()
            assert [tuple(row) for row in binaries] == [
                ("01", 7, 0, 7 * PERIOD, 0),
                ("go:x", 4, 0, 4 * PERIOD, 0),
            ]


def test_kernel_functions_and_markers_are_told_apart(engine: Engine) -> None:
    [visit_id] = archived(engine)
    message, resolved = random_capture(visit_id, 1)
    ingest(engine, Interner(engine), visit_id, 1, message, resolved)
    with engine.connect() as connection:
        kinds = dict(connection.execute(select(function.c.name, function.c.kind)).all())
    assert {name for name, kind in kinds.items() if kind == 1} == {f"sys{i}" for i in range(6)}
    assert {name for name, kind in kinds.items() if kind == 2} == {n for n in kinds if n.startswith("[")}


def test_what_strangers_write_into_names_ingests(engine: Engine) -> None:
    """NUL, lone surrogates from debug information, and names longer than an index row may be."""
    [visit_id] = archived(engine)
    made = SyntheticCapture(visit_id)
    mapping = made.mapping("/" + "p" * 8000)
    monster = named("std::" + "x" * 20_000, file="a\0b\ud800")
    frame = made.frame(mapping, (monster, 2**31 - 1))
    group = made.group("/" + "q" * 8000, comm="\0", team="t" * 8000)
    made.segment({group: {made.stack([frame]): 1}}, event="e" * 5000)
    message, resolved = made.finished()
    assert ingest(engine, Interner(engine), visit_id, 1, message, resolved).outcome == "ingested"
    with engine.connect() as connection:
        assert connection.scalars(select(function.c.file).where(function.c.kind == 0)).one() == "a�b?"
        assert connection.scalars(select(label_set.c.labels)).one()["team"] == "t" * 255


def test_a_capture_of_another_visit_is_refused(engine: Engine) -> None:
    [visit_id] = archived(engine)
    with pytest.raises(BadCapture, match="another visit"):
        ingest(engine, Interner(engine), visit_id, 1, *random_capture(uuid4(), 1))


def test_a_visit_without_a_capture_is_unknown(engine: Engine) -> None:
    visit_id = uuid4()
    with pytest.raises(UnknownCapture):
        ingest(engine, Interner(engine), visit_id, 1, *random_capture(visit_id, 1))


def test_ingestion_looks_up_a_known_dictionary_without_asking(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = archived(engine, 2)
    interner = Interner(engine)
    ingest(engine, interner, first, 1, *random_capture(first, 1))

    def never(*_: object) -> None:
        raise AssertionError("asked the database for what is remembered")

    monkeypatch.setattr("storage.ingest.interning._upsert", never)
    assert ingest(engine, interner, second, 1, *random_capture(second, 1)).outcome == "ingested"


def _merge(engine: Engine, visit_id: UUID) -> None:
    """What merging into cells does to the queue."""
    with engine.begin() as connection:
        connection.execute(delete(rollup_queue).where(rollup_queue.c.visit_id == visit_id))


def _ingest_with(url: str, visit_id: UUID, generation: int, capture_and_frames: tuple) -> None:
    engine = open_engine(url, application="child")
    assert ingest(engine, Interner(engine), visit_id, generation, *capture_and_frames).outcome == "ingested"
    engine.dispose()


def _forked(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def _ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _waiting(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(
            text(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'fleetprof-child' AND wait_event_type = 'Lock'"
            )
        ).scalar_one()
