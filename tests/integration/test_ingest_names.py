"""Dictionaries and names: many processes agree on ids, and a nameless function is named in place."""

import multiprocessing
import os
import random
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine, func, select, text, update

from storage.database import open_engine
from storage.dictionary_sweep import epochs
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner, function_hash, identity
from storage.ingest.late_names import rename, unnamed_starts
from storage.ingest.marker_frames import Kind
from storage.ingest.symbolized import FunctionName, Status
from storage.schema import dictionary_touched, function, stack
from tests.dictionary_stacks import functions_by_stack
from tests.ingested import archived, interned, stored
from tests.synthetic_captures import LIBRARY, expected_stacks, named, nameless, random_capture

pytestmark = pytest.mark.integration

KEY = LIBRARY.hex()


def better_names() -> dict[int, FunctionName]:
    """Names for the nameless functions of `random_capture`."""
    return {4096 + 256 * i: named(f"real{i}", binary="lib.so") for i in range(6)}


def test_ids_are_given_in_order_and_for_ever(engine: Engine) -> None:
    names = [named(f"f{i}") for i in range(5)]
    kinds = [Kind.USER] * 5
    first = Interner(engine).functions(names, kinds)
    assert len(set(first.tolist())) == 5
    again = Interner(engine).functions(
        [*reversed(names), named("new"), names[0]], [*kinds, Kind.USER, Kind.USER]
    )
    assert again[:5].tolist() == first[::-1].tolist()
    assert again[6] == first[0]
    assert again[5] not in first


def test_what_makes_a_function_another_one() -> None:
    base = named("f", file="a.c", binary="app")
    assert identity(base) == identity(FunctionName("f", "_Zf", "a.c", "app", Status.SYMTAB, start_line=9))
    others = [
        named("g", file="a.c", binary="app"),
        named("f", file="b.c", binary="app"),
        named("f", file="a.c", binary="other"),
        nameless(None),
        nameless(0),
        nameless(1),
        nameless(1, key="bb"),
    ]
    assert len({function_hash(identity(one)) for one in [base, *others]}) == 8


def test_a_full_memory_forgets_and_asks_again(engine: Engine) -> None:
    interner = Interner(
        engine, stack_bytes=1
    )  # which is taken for the least that is of use, some 1500 stacks
    stacks = [(i + 1, i + 2) for i in range(5000)]
    whole = interned(interner, stacks).tolist()
    for first in (0, 4000, 1000, 3000, 2000, 0):
        assert interned(interner, stacks[first : first + 1000]).tolist() == whole[first : first + 1000]
    with engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(stack)) == 5000


def test_processes_that_meet_the_same_new_rows_agree(
    engine: Engine, database_url: str, tmp_path: Path
) -> None:
    """The same new rows in different orders at the same moment: no deadlock, one row each, the same ids."""
    rounds, each = 8, 1500
    stacks = [(i, i + 1, i % 7) for i in range(1, rounds * each + 1)]
    names = [named(f"f{i}") for i in range(500)]
    together = multiprocessing.get_context("fork").Barrier(3)

    def intern(seed: int) -> None:
        interner = Interner(open_engine(database_url, application="child"))
        rng = random.Random(seed)
        ids = np.zeros(len(stacks), np.int32)
        for n in range(rounds):
            some = rng.sample(range(n * each, (n + 1) * each), each)
            together.wait(30)
            ids[some] = interned(interner, [stacks[i] for i in some])
        shuffled = rng.sample(names, len(names))
        interner.functions(shuffled, [Kind.USER] * len(names))
        np.save(tmp_path / f"{seed}.npy", ids)

    children = []
    for seed in range(3):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                intern(seed)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with engine.connect() as connection:
        frames = functions_by_stack(connection)
        assert connection.scalar(select(func.count()).select_from(function)) == len(names)
    assert len({tuple(one) for one in frames.values()}) == len(frames) == len(stacks)
    for seed in range(3):
        found = [tuple(frames[id_]) for id_ in np.load(tmp_path / f"{seed}.npy").tolist()]
        assert found == stacks


def test_naming_moves_no_total(engine: Engine) -> None:
    [visit_id] = archived(engine)
    interner = Interner(engine)
    old = random_capture(visit_id, 5)
    ingest(engine, interner, visit_id, 1, *old)
    before = stored(engine, visit_id)
    names = better_names()
    with engine.connect() as connection:
        starts = unnamed_starts(connection, KEY)
    assert starts == sorted(names)
    assert rename(engine, interner, KEY, names) == 6
    after = stored(engine, visit_id)
    renamed = {f"lib.so+{start:#x}": name.name for start, name in names.items()}
    expected = expected_stacks(*old)
    assert after.stacks == {
        (segment, tuple(renamed.get(name, name) for name in frames)): count
        for (segment, frames), count in expected.items()
    }
    assert (after.units, after.profiles) == (before.units, before.profiles)
    with engine.connect() as connection:
        assert unnamed_starts(connection, KEY) == []


def test_a_ingestion_with_old_symbols_meets_the_new_names(engine: Engine) -> None:
    early, late = archived(engine, 2)
    ingest(engine, Interner(engine), early, 1, *random_capture(early, 5))
    rename(engine, Interner(engine), KEY, better_names())
    ingest(engine, Interner(engine), late, 1, *random_capture(late, 5))
    assert stored(engine, late).stacks == stored(engine, early).stacks
    nameless_again = [nameless(start) for start in better_names()]
    named_now = list(better_names().values())
    kinds = [Kind.USER] * 6
    assert Interner(engine).functions(nameless_again, kinds).tolist() == (
        Interner(engine).functions(named_now, kinds).tolist()
    )
    with engine.connect() as connection:
        assert (
            connection.scalar(
                select(func.count()).select_from(function).where(function.c.alias_of.is_not(None))
            )
            == 6
        )


def test_two_builds_of_a_function_become_one(engine: Engine) -> None:
    """Two nameless rows of two builds, named alike, are the one function both builds have."""
    interner = Interner(engine)
    interner.functions([nameless(16), nameless(32, key="bb")], [Kind.USER] * 2)
    rename(engine, interner, KEY, {16: named("same", binary="lib.so")})
    rename(engine, interner, "bb", {32: named("same", binary="lib.so")})
    with engine.connect() as connection:
        aliases = connection.scalars(
            select(function.c.alias_of).where(function.c.alias_of.is_not(None))
        ).all()
    assert len(aliases) == 2
    assert len(set(aliases)) == 1


def test_a_name_gives_way_to_a_better_one_only(engine: Engine) -> None:
    interner = Interner(engine)
    interner.functions([nameless(16)], [Kind.USER])
    symtab = named("f", file="", binary="lib.so", status=Status.SYMTAB)
    full = named("f", file="f.c", binary="lib.so")

    def current() -> str | None:
        with engine.connect() as connection:
            target = function.alias()
            return connection.scalar(
                select(target.c.file).join(function, function.c.alias_of == target.c.function_id)
            )

    assert rename(engine, interner, KEY, {16: symtab}) == 1
    assert current() == ""
    with engine.connect() as connection:
        assert unnamed_starts(connection, KEY) == [16], "debug information could still come"
    assert rename(engine, interner, KEY, {16: full}) == 1
    assert rename(engine, interner, KEY, {16: symtab}) == 0
    assert rename(engine, interner, KEY, {16: full}) == 0
    assert current() == "f.c"


def test_what_a_sweep_shall_keep_is_noted_in_one_order(engine: Engine) -> None:
    """Names and what they are names for, by one number: two workers then wait in one direction only."""
    names = [named(f"f{i}") for i in range(3)]
    ids = Interner(engine).functions(names, [Kind.USER] * 3).tolist()
    (first, _), (middle, one), (last, other) = sorted(zip(ids, names, strict=True))
    with engine.begin() as connection:
        connection.execute(update(function).where(function.c.function_id == last).values(alias_of=first))
    epochs.begin(engine)
    assert Interner(engine).functions([one, other], [Kind.USER] * 2).tolist() == [middle, first]
    touched = dictionary_touched.c
    with engine.connect() as connection:
        noted = connection.scalars(
            select(touched.id).where(touched.dictionary == "function").order_by(text("ctid"))
        ).all()
    assert noted == [first, middle, last], "as they were written"


def test_starts_that_never_ingested_and_other_binaries_are_left_alone(engine: Engine) -> None:
    interner = Interner(engine)
    interner.functions([nameless(16), nameless(None), nameless(16, key="bb")], [Kind.USER] * 3)
    assert rename(engine, interner, KEY, {99: named("f")}) == 0
    assert rename(engine, interner, KEY, {16: named("f"), 99: named("g")}) == 1
    with engine.connect() as connection:
        rows = connection.execute(
            select(function.c.binary_key, function.c.alias_of).where(function.c.start == 16)
        ).all()
    assert {key: alias is not None for key, alias in rows} == {KEY: True, "bb": False}


def test_a_function_is_not_named_by_another_nameless_one(engine: Engine) -> None:
    interner = Interner(engine)
    interner.functions([nameless(16)], [Kind.USER])
    with pytest.raises(ValueError, match="name of a function is empty"):
        rename(engine, interner, KEY, {16: nameless(17)})


def test_a_kernel_function_stays_one(engine: Engine) -> None:
    interner = Interner(engine)
    interner.functions([nameless(16)], [Kind.KERNEL])
    rename(engine, interner, KEY, {16: named("do_it", binary="[kernel]")})
    with engine.connect() as connection:
        assert (
            connection.scalars(select(function.c.kind).where(function.c.name == "do_it")).one() == Kind.KERNEL
        )
