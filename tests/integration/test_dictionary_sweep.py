"""Dictionary rows nothing uses go, and no other: whatever lands, stops or dies meanwhile."""

import os
import random
import threading
from contextlib import suppress
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, Select, func, insert, select, text, update

from fleetpb import capture_pb2
from storage import partitions, stack_blocks
from storage.database import open_engine
from storage.dictionary_sweep import delete, delete_stacks, epochs
from storage.dictionary_sweep.errors import SweepOvertaken
from storage.dictionary_sweep.scan import LABELS
from storage.dictionary_sweep.sweep import EVERY, Swept, sweep, sweep_if_due
from storage.errors import DatabaseError
from storage.landing.codec import decode_many, encode
from storage.landing.interning import Interner
from storage.landing.land import land
from storage.landing.lines import Lines, decode_lines, encode_lines
from storage.landing.rename import rename
from storage.landing.resolved import FunctionName, ResolvedFrames
from storage.rolling import moments_codec, weighted
from storage.rolling.moments import Sums
from storage.rolling.weighted import Parts
from storage.schema import (
    binary,
    capture_binary,
    capture_counter,
    chunk,
    debug_file,
    dictionary_epoch,
    dictionary_touched,
    dim_value,
    fseries,
    function,
    label_set,
    line_chunk,
    metadata,
    profile,
    roll,
    roll_queue,
    roll_replaced,
    roll_weighted,
    stack,
    stack_block,
)
from tests.dictionary_stacks import functions_by_stack
from tests.integration.exactly_once.faults import CRASHED, Commits, Fault, Plan
from tests.landed import BEFORE_MIDNIGHT, DAY, archived, stored
from tests.made_captures import MadeCapture, expected_stacks, named, nameless

pytestmark = pytest.mark.integration

DICTIONARIES = ("stack", "function", "label_set", "dim_value", "binary")
NEXT_DAY = BEFORE_MIDNIGHT + timedelta(days=1)


def capture_of(visit_id: UUID, seed: int) -> tuple[capture_pb2.Capture, ResolvedFrames]:
    """A small capture that shares nothing with one of another seed but markers and empty labels."""
    rng = random.Random(seed)
    made = MadeCapture(visit_id)
    app = made.mapping(f"/usr/bin/app{seed}", build_id=bytes([seed]) * 20)
    frames = [made.frame(app, (named(f"s{seed}f{i}", binary=f"app{seed}"), 10 + i)) for i in range(6)]
    frames.append(made.frame(app, (nameless(4096, binary=f"app{seed}", key=key_of(seed)), 0)))
    stacks = [
        made.stack(rng.sample(frames, rng.randrange(1, 6)), capture_pb2.STACK_END_TRUNCATED) for _ in range(8)
    ]
    group = made.group(f"/usr/bin/app{seed}", comm=f"comm{seed}", team=f"team{seed}")
    made.segment({group: {s: rng.randrange(1, 9) for s in stacks}})
    return made.finished()


def key_of(seed: int) -> str:
    return (bytes([seed]) * 20).hex()


def landed(engine: Engine, interner: Interner, visit_id: UUID, seed: int, generation: int = 1) -> None:
    land(engine, interner, visit_id, generation, *capture_of(visit_id, seed))


def is_as_landed(engine: Engine, visit_id: UUID, seed: int) -> bool:
    return stored(engine, visit_id).stacks == expected_stacks(*capture_of(visit_id, seed))


def rows(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            name: connection.execute(select(func.count()).select_from(metadata.tables[name])).scalar_one()
            for name in DICTIONARIES
        }


def broken(engine: Engine) -> dict[str, set[int]]:
    """Ids that something uses and no dictionary has; empty if all is well. An independent second scan."""
    with engine.connect() as connection:

        def ids(statement: Select[tuple[int]]) -> set[int]:
            return set(connection.scalars(statement))

        stacks = functions_by_stack(connection)
        assert set(stacks) == set(connection.scalars(select(stack.c.stack_id)))
        used_stacks, used_functions, used_values, used_sets = set[int](), set[int](), set[int](), set[int]()
        for facts, data in connection.execute(
            select(profile.c.facts, chunk.c.data).where(
                profile.c.day == chunk.c.day, profile.c.profile_id == chunk.c.profile_id
            )
        ):
            used_stacks |= set(decode_many([bytes(data)], [facts])[0].tolist())
        for facts, data in connection.execute(select(line_chunk.c.facts, line_chunk.c.data)):
            used_functions |= set(decode_lines([bytes(data)], [facts]).function.tolist())
        for frames in stacks.values():
            used_functions |= set(frames)
        for row in connection.execute(select(profile)):
            used_values |= {getattr(row, name) for name in LABELS}
            used_sets.add(row.label_set_id)
        return {
            name: missing
            for name, missing in {
                "stack": used_stacks - set(stacks),
                "function": used_functions - ids(select(function.c.function_id)),
                "dim_value": used_values - ids(select(dim_value.c.value_id)),
                "label_set": used_sets - ids(select(label_set.c.label_set_id)),
            }.items()
            if missing
        }


def drop(engine: Engine, before: datetime) -> None:
    with engine.begin() as connection:
        partitions.drop(connection, before.date())
        connection.execute(text("TRUNCATE capture_binary"))


def vanish(engine: Engine, visit_id: UUID) -> None:
    """Take the visit's facts away, as if its day had been dropped."""
    mine = select(profile.c.profile_id).where(profile.c.visit_id == visit_id)
    with engine.begin() as connection:
        for table in (chunk, line_chunk):
            connection.execute(table.delete().where(table.c.profile_id.in_(mine)))
        for table in (profile, capture_binary):
            connection.execute(table.delete().where(table.c.visit_id == visit_id))


@pytest.fixture
def interner(engine: Engine) -> Interner:
    return Interner(engine)


@pytest.fixture
def two_days(engine: Engine, interner: Interner) -> tuple[UUID, UUID]:
    """Seed 1 on a day that is dropped, seed 2 on the next."""
    [old] = archived(engine)
    [new] = archived(engine, drawn_at=NEXT_DAY)
    landed(engine, interner, old, 1)
    landed(engine, interner, new, 2)
    drop(engine, NEXT_DAY)
    return old, new


Moments = TypeVar("Moments", Sums, Parts)


def one_row(kind: type[Moments], function_id: int) -> Moments:
    """The moments of a cell with one function; every number is 1."""
    columns: dict[str, Any] = {
        field.name: np.ones(1, np.float64 if "float" in str(field.type).lower() else np.int64)
        for field in fields(kind)
    }
    return replace(kind(**columns), function=np.array([function_id], np.int64))


CELL = {
    "cube": 1, "campaign_id": 1, "stacks": True, "sample_type_id": 1, "bucket": 1, "facts": 1, "profiles": 1,
    "visits": 1, "samples": 1, "total": 1,
}  # fmt: skip


class TestWhatGoes:
    def test_all_that_only_dropped_days_used_and_nothing_else(
        self, engine: Engine, two_days: tuple[UUID, UUID]
    ) -> None:
        before = rows(engine)
        swept = sweep(engine)
        assert swept is not None
        after = rows(engine)
        assert dict(swept.freed) == {name: before[name] - after[name] for name in DICTIONARIES}
        assert broken(engine) == {}
        assert is_as_landed(engine, two_days[1], 2)
        with engine.connect() as connection:
            names = set(connection.scalars(select(function.c.name)))
            used = {name for _, names in expected_stacks(*capture_of(two_days[1], 2)) for name in names}
            assert used <= names
            # Lines name functions too: those of frames in no stack are there for nothing else.
            assert not any(name.startswith("s1") for name in names)
            values = set(connection.scalars(select(dim_value.c.value)))
            assert "app2" in values
            assert "app1" not in values
            assert [labels["comm"] for labels in connection.scalars(select(label_set.c.labels))] == ["comm2"]
        again = sweep(engine)
        assert again is not None
        assert sum(again.freed.values()) == 0

    def test_the_sweep_says_how_much_it_read(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        swept = sweep(engine)
        assert isinstance(swept, Swept)
        with engine.connect() as connection:
            facts = connection.scalar(select(func.sum(profile.c.facts)))
            lines = connection.scalar(select(func.sum(line_chunk.c.facts)))
        assert facts
        assert lines
        assert (swept.facts, swept.corrupt) == (facts + lines, 0)

    def test_a_chunk_nobody_can_read_keeps_nothing_and_stops_nothing(
        self, engine: Engine, interner: Interner, two_days: tuple[UUID, UUID]
    ) -> None:
        [other] = archived(engine, drawn_at=NEXT_DAY)
        landed(engine, interner, other, 3)
        with engine.begin() as connection:
            mine = select(profile.c.profile_id).where(profile.c.visit_id == other)
            connection.execute(update(chunk).where(chunk.c.profile_id.in_(mine)).values(data=b"\x02rot"))
        swept = sweep(engine)
        assert swept is not None
        assert swept.corrupt == 1
        assert is_as_landed(engine, two_days[1], 2)

    def test_a_binary_stays_while_a_capture_a_file_or_a_function_speaks_of_it(
        self, engine: Engine, two_days: tuple[UUID, UUID]
    ) -> None:
        with engine.begin() as connection:
            for key in ("nothing", "uploaded"):
                connection.execute(insert(binary).values(key=key, name=key, path=key, kind="file"))
            connection.execute(
                insert(debug_file).values(
                    binary_key="uploaded",
                    kind="executable",
                    quality=3,
                    bytes=1,
                    raw_bytes=1,
                    sha256=b"",
                    origin="",
                )
            )
        sweep(engine)
        with engine.connect() as connection:
            # The nameless function of seed 2 may be in none of its stacks.
            nameless_ones = set(connection.scalars(select(function.c.binary_key)))
            assert set(connection.scalars(select(binary.c.key))) == (
                {"uploaded"} | (nameless_ones & {key_of(2)})
            )


class TestWhatStays:
    """Each kind of place that holds an id is enough for a row to stay."""

    def ids(self, connection: Connection) -> tuple[int, int]:
        """A stack of seed 1, and a function of seed 1 that is in none of its stacks' frames."""
        return (
            connection.execute(select(func.min(stack.c.stack_id))).scalar_one(),
            connection.execute(
                insert(function)
                .values(
                    hash=uuid4(), kind=0, name="only here", raw_name="", file="", binary_name="", status=3
                )
                .returning(function.c.function_id)
            ).scalar_one(),
        )

    def value(self, connection: Connection, text_: str) -> int:
        statement = insert(dim_value).values(dim="application", value=text_)
        return int(connection.execute(statement.returning(dim_value.c.value_id)).scalar_one())

    def kept(self, engine: Engine) -> tuple[set[int], set[str], set[str]]:
        """Stacks, function names and values there are after a sweep."""
        assert sweep(engine) is not None
        with engine.connect() as connection:
            return (
                set(connection.scalars(select(stack.c.stack_id))),
                set(connection.scalars(select(function.c.name))),
                set(connection.scalars(select(dim_value.c.value))),
            )

    def test_cells(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        with engine.begin() as connection:
            id_, _ = self.ids(connection)
            place = {"level": 0, "stratum_id": 1, "utilisation_class": 0}
            key = {"k1": self.value(connection, "first"), "k2": self.value(connection, "second")}
            data = {"data": encode([id_], [7])}
            connection.execute(insert(roll).values(CELL | place | key | data))
        stacks, names, values = self.kept(engine)
        assert id_ in stacks
        assert any(name.startswith("s1") for name in names)
        assert {"first", "second"} <= values

    def test_source_lines(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        """A frame folded out of a deep stack is in the lines and in no stack."""
        with engine.begin() as connection:
            _, function_id = self.ids(connection)
            one = np.array([1], np.int64)
            lines = Lines(np.array([function_id], np.int32), np.array([5], np.int32), one, one)
            row = {"day": NEXT_DAY.date(), "profile_id": 7, "facts": 1, "data": encode_lines(lines)}
            connection.execute(insert(line_chunk).values(row))
        _, names, _ = self.kept(engine)
        assert "only here" in names

    def test_moments(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        with engine.begin() as connection:
            _, function_id = self.ids(connection)
            place = {"level": 0, "stratum_id": 1, "utilisation_class": 0, "k1": 0, "k2": 0, "facts": 0}
            blobs = {"data": encode([], []), "moments": moments_codec.encode(one_row(Sums, function_id))[0]}
            connection.execute(insert(roll).values(CELL | place | blobs))
        _, names, _ = self.kept(engine)
        assert "only here" in names

    def test_moments_of_many_days(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        with engine.begin() as connection:
            _, function_id = self.ids(connection)
            place = {"level": 1, "k1": 0, "k2": 0, "facts": 0, "weighted": b"", "weighted_total": 1.0}
            blobs = {"data": encode([], []), "moments": weighted.encode(one_row(Parts, function_id))[0]}
            connection.execute(insert(roll_weighted).values(CELL | place | blobs))
        _, names, _ = self.kept(engine)
        assert "only here" in names

    def test_cells_of_many_days(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        with engine.begin() as connection:
            id_, _ = self.ids(connection)
            key = {"level": 1, "k1": self.value(connection, "first"), "k2": 0}
            data = {"data": encode([id_], [7]), "weighted": b"", "weighted_total": 1.0}
            connection.execute(insert(roll_weighted).values(CELL | key | data))
        stacks, _, values = self.kept(engine)
        assert id_ in stacks
        assert "first" in values

    def test_what_waits_to_be_taken_out_of_cells(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        with engine.begin() as connection:
            id_, _ = self.ids(connection)
            zero = {c.name: 0 for c in roll_replaced.c if not c.nullable}
            row = {
                "stacks": True,
                "facts": 1,
                "data": encode([id_], [7]),
                "job": self.value(connection, "job"),
            }
            connection.execute(insert(roll_replaced).values(zero | row))
        stacks, _, values = self.kept(engine)
        assert id_ in stacks
        assert "job" in values

    def test_counters_series_and_names(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        with engine.begin() as connection:
            _, in_series = self.ids(connection)
            connection.execute(
                insert(fseries).values(
                    campaign_id=1,
                    sample_type_id=1,
                    function_block=in_series // 64,
                    day=DAY,
                    facts=0,
                    data=b"",
                )
            )
            connection.execute(
                insert(capture_counter).values(
                    visit_id=uuid4(), reading=0, name="cycles", cpus=0, unit="count", day=DAY, status="ok", time_enabled_ns=1,
                    time_running_ns=1, application=self.value(connection, "counted"),
                )
            )  # fmt: skip
            # What a function is named as stays while that function does.
            target = connection.execute(
                insert(function)
                .values(hash=uuid4(), kind=0, name="better", raw_name="", file="", binary_name="", status=3)
                .returning(function.c.function_id)
            ).scalar_one()
            connection.execute(
                update(function).where(function.c.function_id == in_series).values(alias_of=target)
            )
        _, names, values = self.kept(engine)
        assert {"only here", "better"} <= names
        assert "counted" in values

    def test_a_name_given_while_a_sweep_is_under_way(
        self, engine: Engine, interner: Interner, two_days: tuple[UUID, UUID]
    ) -> None:
        once = iter([True])

        def name_it() -> bool:
            for _ in once:
                rename(engine, interner, key_of(2), {4096: named("real", binary="app2")})
            return False

        [visit_id] = archived(engine, drawn_at=NEXT_DAY)
        made = MadeCapture(visit_id)
        library = made.mapping("/usr/bin/app2", build_id=bytes([2]) * 20)
        frame = made.frame(library, (nameless(4096, binary="app2", key=key_of(2)), 0))
        made.segment({made.group(): {made.stack([frame]): 1}})
        land(engine, interner, visit_id, 1, *made.finished())
        assert sweep(engine, stopping=name_it) is not None
        assert broken(engine) == {}
        assert [names for _, names in stored(engine, visit_id).stacks] == [("real",)]

    def test_a_name_is_kept_for_workers_that_still_lack_the_symbols(
        self, engine: Engine, interner: Interner, two_days: tuple[UUID, UUID]
    ) -> None:
        """Also when, with the captures landed again, no stack holds the nameless function any more."""

        def capture_of(visit_id: UUID, name: FunctionName) -> tuple[capture_pb2.Capture, ResolvedFrames]:
            made = MadeCapture(visit_id)
            library = made.mapping("/usr/bin/app2", build_id=bytes([2]) * 20)
            made.segment({made.group(): {made.stack([made.frame(library, (name, 0))]): 1}})
            return made.finished()

        old = nameless(8192, binary="app2", key=key_of(2))
        first, second = archived(engine, 2, drawn_at=NEXT_DAY)
        land(engine, interner, first, 1, *capture_of(first, old))
        rename(engine, interner, key_of(2), {8192: named("real", binary="app2")})
        land(engine, interner, first, 2, *capture_of(first, named("real", binary="app2")))
        with engine.begin() as connection:
            connection.execute(roll_replaced.delete())
            connection.execute(roll_queue.delete())
        assert sweep(engine) is not None
        land(engine, Interner(engine), second, 1, *capture_of(second, old))
        assert [names for _, names in stored(engine, second).stacks] == [("real",)]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks of few stacks, each a transaction of its own."""
    monkeypatch.setattr(delete_stacks, "_BLOCKS", 1)
    monkeypatch.setattr(stack_blocks, "SPAN", 16)
    monkeypatch.setattr(epochs, "SPAN", 16)


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
        landed(engine, interner, other, 3)
        vanish(engine, other)
        first = stack_block.c.first_id
        with engine.begin() as connection:
            before = set(connection.scalars(select(stack.c.stack_id)))
            block = connection.execute(select(func.min(first))).scalar_one()
            connection.execute(update(stack_block).where(first == block).values(data=b"x"))
        swept = sweep(engine)
        assert swept is not None
        with engine.connect() as connection:
            after = set(connection.scalars(select(stack.c.stack_id)))
            left = connection.scalars(select(stack_block.c.data).where(first == block)).all()
        assert {id_ for id_ in before if id_ // stack_blocks.SPAN == block // stack_blocks.SPAN} <= after
        assert [bytes(data) for data in left] == [b"x"]
        assert 0 < swept.freed["stack"] == len(before - after)


def stored_stacks(engine: Engine, visit_id: UUID) -> list[int]:
    """Ids of the stacks of a visit's facts."""
    of = (profile.c.day == chunk.c.day) & (profile.c.profile_id == chunk.c.profile_id)
    with engine.connect() as connection:
        found = connection.execute(
            select(profile.c.facts, chunk.c.data).where(of, profile.c.visit_id == visit_id)
        ).all()
    stacks, _ = decode_many([bytes(data) for _, data in found], [facts for facts, _ in found])
    return [int(id_) for id_ in stacks]


@pytest.mark.usefixtures("small_blocks")
class TestLandingMeanwhile:
    @pytest.mark.parametrize("remembers", [True, False])
    def test_of_vanishing_stacks_at_every_moment_of_a_sweep(
        self,
        engine: Engine,
        remembers: bool,
        interner: Interner,
        two_days: tuple[UUID, UUID],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Whether the lander looked them up before the sweep or does now, they are there afterwards."""
        monkeypatch.setattr(delete, "BATCH", 4)
        visits = archived(engine, 40, drawn_at=NEXT_DAY)
        moment, wanted = 0, 0

        def land_now() -> bool:
            nonlocal moment
            moment += 1
            if moment == wanted:
                landed(engine, interner if remembers else Interner(engine), visits[wanted], 1)
            return False

        for wanted in range(1, len(visits)):
            moment = 0
            assert sweep(engine, stopping=land_now) is not None
            if moment < wanted:
                break
            assert broken(engine) == {}
            assert is_as_landed(engine, visits[wanted], 1)
            vanish(engine, visits[wanted])
        assert is_as_landed(engine, two_days[1], 2)
        assert moment < wanted, "later moments were never tried"
        assert wanted > 10
        with engine.connect() as connection:
            assert connection.scalar(select(func.count()).select_from(dictionary_touched)) == 0

    def test_of_many_at_once_while_sweeps_follow_on_each_other(
        self, engine: Engine, database_url: str
    ) -> None:
        """Visits are landed again and again with other stacks, so that all of them vanish and come back."""
        crews, seeds, generations, between_sweeps = 3, 4, 12, 6
        visits = [archived(engine, 2) for _ in range(crews)]
        last: dict[UUID, int] = {}
        errors: list[BaseException] = []
        progress = threading.Semaphore(0)
        """A landing each: sweeps without a pause would begin epochs faster than anyone can land in one."""

        def crew(number: int) -> None:
            rng = random.Random(number)
            own = open_engine(database_url, application="lander")
            interner = Interner(own)
            try:
                for generation in range(1, generations + 1):
                    for visit_id in visits[number]:
                        last[visit_id] = rng.randrange(1, seeds + 1)
                        landed(own, interner, visit_id, last[visit_id], generation)
                        progress.release()
            except BaseException as error:  # noqa: BLE001 - told to the test below
                errors.append(error)
            finally:
                own.dispose()

        threads = [threading.Thread(target=crew, args=(n,)) for n in range(crews)]
        for thread in threads:
            thread.start()
        freed, landings = 0, crews * 2 * generations
        while landings and not errors:
            landings -= progress.acquire(timeout=30)
            if landings % between_sweeps == 0:
                done = sweep(engine)
                assert done is not None
                freed += done.freed["stack"]
        for thread in threads:
            thread.join(60)
        assert errors == []
        assert broken(engine) == {}
        assert all(is_as_landed(engine, visit_id, seed) for visit_id, seed in last.items())
        assert freed > 0


class TestEndings:
    @pytest.mark.parametrize("fault", Fault)
    def test_dying_at_any_commit_loses_nothing_and_the_next_sweep_finishes(
        self, fault: Fault, engine: Engine, database_url: str, interner: Interner, two_days: tuple[UUID, UUID]
    ) -> None:
        """After each death somebody who remembers lands the vanishing stacks at once."""
        visits = archived(engine, 40, drawn_at=NEXT_DAY)
        for at in range(1, len(visits)):
            died = dies(database_url, Plan(fault, at))
            landed(engine, interner, visits[at], 1)
            assert broken(engine) == {}
            assert is_as_landed(engine, visits[at], 1)
            assert is_as_landed(engine, two_days[1], 2)
            if not died:
                break
            vanish(engine, visits[at])
        assert at > 5
        assert sweep(engine) is not None
        assert broken(engine) == {}
        with engine.connect() as connection:
            assert connection.scalar(select(dictionary_epoch.c.marking)) is False

    def test_of_two_sweeps_one_gives_way(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        others: list[Swept | None] = []
        once = iter([True])

        def another() -> bool:
            others.extend(sweep(engine) for _ in once)
            return False

        assert sweep(engine, stopping=another) is not None
        assert others == [None]

    def test_one_that_was_overtaken_deletes_nothing_more(
        self, engine: Engine, two_days: tuple[UUID, UUID]
    ) -> None:
        before = rows(engine)
        once = iter([True])

        def overtake() -> bool:
            for _ in once:
                epochs.begin(engine)
            return False

        with pytest.raises(SweepOvertaken):
            sweep(engine, stopping=overtake)
        assert rows(engine) == before

    @pytest.mark.parametrize("after", [1, 3, 9, 30])
    def test_one_that_is_stopped_leaves_no_marking(
        self, engine: Engine, after: int, two_days: tuple[UUID, UUID]
    ) -> None:
        moments = iter(range(1, 100))
        stopped = sweep(engine, stopping=lambda: next(moments) >= after)
        with engine.connect() as connection:
            row = connection.execute(select(dictionary_epoch)).one()
        assert row.marking is False
        assert (row.swept_at is None) == (stopped is None)
        assert broken(engine) == {}
        assert is_as_landed(engine, two_days[1], 2)

    def test_it_is_due_once_a_week_and_after_a_death(
        self, engine: Engine, two_days: tuple[UUID, UUID]
    ) -> None:
        now = datetime.now(UTC)
        assert sweep_if_due(engine, now) is not None
        assert sweep_if_due(engine, now) is None
        epochs.begin(engine)  # and dies
        assert sweep_if_due(engine, now) is not None
        assert sweep_if_due(engine, now) is None
        assert sweep_if_due(engine, now + EVERY + timedelta(minutes=1)) is not None


def dies(database_url: str, plan: Plan) -> bool:
    """Sweep in a process of its own that meets the fault; False: there is no such commit."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            engine = open_engine(database_url, application="sweeper")
            commits = Commits(engine, plan)
            with suppress(DatabaseError):
                sweep(engine)
            status = 4 if commits.faults else 0
        finally:
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in CRASHED | {0, 4}, f"ended with {code}"
    return code != 0
