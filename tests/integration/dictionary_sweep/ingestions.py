"""Small captures that share nothing with each other, and what of them is left in the dictionaries."""

import random
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Engine, Select, func, select, text

from fleetpb import capture_pb2
from storage import partitions
from storage.blobs.fact_blobs import decode_lines, decode_many
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from storage.ingest.symbolized import ResolvedFrames
from storage.schema import (
    DIMENSIONS,
    capture_binary,
    chunk,
    dim_value,
    function,
    label_set,
    line_chunk,
    metadata,
    profile,
)
from tests.dictionary_stacks import functions_by_stack, hashed_stacks
from tests.ingested import BEFORE_MIDNIGHT, stored
from tests.synthetic_captures import SyntheticCapture, expected_stacks, named, nameless

DICTIONARIES = ("stack", "function", "label_set", "dim_value", "binary")


NEXT_DAY = BEFORE_MIDNIGHT + timedelta(days=1)


def capture_of(visit_id: UUID, seed: int) -> tuple[capture_pb2.Capture, ResolvedFrames]:
    """A small capture that shares nothing with one of another seed but markers and empty labels."""
    rng = random.Random(seed)
    made = SyntheticCapture(visit_id)
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


def ingested(engine: Engine, interner: Interner, visit_id: UUID, seed: int, generation: int = 1) -> None:
    ingest(engine, interner, visit_id, generation, *capture_of(visit_id, seed))


def is_as_ingested(engine: Engine, visit_id: UUID, seed: int) -> bool:
    return stored(engine, visit_id).stacks == expected_stacks(*capture_of(visit_id, seed))


def rows(engine: Engine) -> dict[str, int]:
    with engine.connect() as connection:
        return {
            name: connection.execute(select(func.count()).select_from(metadata.tables[name])).scalar_one()
            for name in DICTIONARIES
        }


def broken(engine: Engine, *, finished: bool = True) -> dict[str, set[int]]:
    """Ids that something uses and no dictionary has; empty if all is well. An independent second scan.

    A sweep that was not `finished` may leave functions of stacks that are not in the hash table any more.
    """
    with engine.connect() as connection:

        def ids(statement: Select[tuple[int]]) -> set[int]:
            return set(connection.scalars(statement))

        stacks = functions_by_stack(connection)
        assert hashed_stacks(connection) <= set(stacks)
        assert not finished or hashed_stacks(connection) == set(stacks)
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
            used_values |= {getattr(row, name) for name in DIMENSIONS}
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


def stored_stacks(engine: Engine, visit_id: UUID) -> list[int]:
    """Ids of the stacks of a visit's facts."""
    of = (profile.c.day == chunk.c.day) & (profile.c.profile_id == chunk.c.profile_id)
    with engine.connect() as connection:
        found = connection.execute(
            select(profile.c.facts, chunk.c.data).where(of, profile.c.visit_id == visit_id)
        ).all()
    stacks, _ = decode_many([bytes(data) for _, data in found], [facts for facts, _ in found])
    return [int(id_) for id_ in stacks]
