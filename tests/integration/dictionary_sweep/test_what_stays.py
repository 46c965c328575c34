"""Dictionary rows stay while anything speaks of them."""

from dataclasses import fields, replace
from typing import Any, TypeVar
from uuid import UUID, uuid4

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, func, insert, select, update

from fleetpb import capture_pb2
from storage.blobs.fact_blobs import Lines, encode, encode_lines
from storage.dictionary_sweep.sweep import sweep
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from storage.ingest.late_names import rename
from storage.ingest.symbolized import FunctionName, ResolvedFrames
from storage.rollup import long_moments_codec, moments_codec
from storage.rollup.long_moments import Parts
from storage.rollup.moments import Sums
from storage.schema import (
    capture_counter,
    dim_value,
    function,
    line_chunk,
    rollup,
    rollup_long,
    rollup_queue,
    rollup_retraction,
    stack,
)
from tests.ingested import DAY, archived, stored
from tests.integration.dictionary_sweep.ingestions import NEXT_DAY, broken, key_of
from tests.synthetic_captures import SyntheticCapture, named, nameless

pytestmark = pytest.mark.integration

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
            connection.execute(insert(rollup).values(CELL | place | key | data))
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
            connection.execute(insert(rollup).values(CELL | place | blobs))
        _, names, _ = self.kept(engine)
        assert "only here" in names

    def test_moments_of_many_days(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        with engine.begin() as connection:
            _, function_id = self.ids(connection)
            place = {"level": 1, "k1": 0, "k2": 0, "facts": 0, "weighted": b"", "weighted_total": 1.0}
            blobs = {
                "data": encode([], []),
                "moments": long_moments_codec.encode(one_row(Parts, function_id))[0],
            }
            connection.execute(insert(rollup_long).values(CELL | place | blobs))
        _, names, _ = self.kept(engine)
        assert "only here" in names

    def test_cells_of_many_days(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        with engine.begin() as connection:
            id_, _ = self.ids(connection)
            key = {"level": 1, "k1": self.value(connection, "first"), "k2": 0}
            data = {"data": encode([id_], [7]), "weighted": b"", "weighted_total": 1.0}
            connection.execute(insert(rollup_long).values(CELL | key | data))
        stacks, _, values = self.kept(engine)
        assert id_ in stacks
        assert "first" in values

    def test_what_waits_to_be_taken_out_of_cells(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        with engine.begin() as connection:
            id_, _ = self.ids(connection)
            zero = {c.name: 0 for c in rollup_retraction.c if not c.nullable}
            row = {
                "stacks": True,
                "facts": 1,
                "data": encode([id_], [7]),
                "job": self.value(connection, "job"),
            }
            connection.execute(insert(rollup_retraction).values(zero | row))
        stacks, _, values = self.kept(engine)
        assert id_ in stacks
        assert "job" in values

    def test_counters_and_names(self, engine: Engine, two_days: tuple[UUID, UUID]) -> None:
        with engine.begin() as connection:
            _, used = self.ids(connection)
            one = np.array([1], np.int64)
            lines = Lines(np.array([used], np.int32), np.array([5], np.int32), one, one)
            row = {"day": NEXT_DAY.date(), "profile_id": 7, "facts": 1, "data": encode_lines(lines)}
            connection.execute(insert(line_chunk).values(row))
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
            connection.execute(update(function).where(function.c.function_id == used).values(alias_of=target))
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
        made = SyntheticCapture(visit_id)
        library = made.mapping("/usr/bin/app2", build_id=bytes([2]) * 20)
        frame = made.frame(library, (nameless(4096, binary="app2", key=key_of(2)), 0))
        made.segment({made.group(): {made.stack([frame]): 1}})
        ingest(engine, interner, visit_id, 1, *made.finished())
        assert sweep(engine, stopping=name_it) is not None
        assert broken(engine) == {}
        assert [names for _, names in stored(engine, visit_id).stacks] == [("real",)]

    def test_a_name_is_kept_for_workers_that_still_lack_the_symbols(
        self, engine: Engine, interner: Interner, two_days: tuple[UUID, UUID]
    ) -> None:
        """Also when, with the captures reprocessed, no stack holds the nameless function any more."""

        def capture_of(visit_id: UUID, name: FunctionName) -> tuple[capture_pb2.Capture, ResolvedFrames]:
            made = SyntheticCapture(visit_id)
            library = made.mapping("/usr/bin/app2", build_id=bytes([2]) * 20)
            made.segment({made.group(): {made.stack([made.frame(library, (name, 0))]): 1}})
            return made.finished()

        old = nameless(8192, binary="app2", key=key_of(2))
        first, second = archived(engine, 2, drawn_at=NEXT_DAY)
        ingest(engine, interner, first, 1, *capture_of(first, old))
        rename(engine, interner, key_of(2), {8192: named("real", binary="app2")})
        ingest(engine, interner, first, 2, *capture_of(first, named("real", binary="app2")))
        with engine.begin() as connection:
            connection.execute(rollup_retraction.delete())
            connection.execute(rollup_queue.delete())
        assert sweep(engine) is not None
        ingest(engine, Interner(engine), second, 1, *capture_of(second, old))
        assert [names for _, names in stored(engine, second).stacks] == [("real",)]
