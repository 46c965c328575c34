"""Landing by processes that die: at every commit, before and after it, and several on the same captures."""

import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, text

from storage.database import open_engine
from storage.landing.interning import Interner
from storage.landing.land import ToLand, land_many
from tests.landed import archived, queued, stored
from tests.made_captures import expected_stacks, random_capture

pytestmark = pytest.mark.integration

BEFORE, AFTER = "before", "after"


TOGETHER = 3


def work(url: str, visits: list[tuple[UUID, int]], generation: int, dies_at: int, when: str) -> None:
    """Land the captures (visit, seed), three together; die at the `dies_at`th commit, if there are as many."""
    engine = open_engine(url, application="lander")
    commit = engine.dialect.do_commit
    commits = 0

    def counted(connection: Any) -> None:
        nonlocal commits
        commits += 1
        if commits == dies_at and when == BEFORE:
            os.kill(os.getpid(), signal.SIGKILL)
        commit(connection)
        if commits == dies_at and when == AFTER:
            os._exit(3)

    engine.dialect.do_commit = counted  # type: ignore[method-assign]  # the one place every commit passes
    interner = Interner(engine)
    items = [
        ToLand(visit_id, generation, *random_capture(visit_id, seed, resolved_better=generation > 1))
        for visit_id, seed in visits
    ]
    for first in range(0, len(items), TOGETHER):
        results = land_many(engine, interner, items[first : first + TOGETHER])
        assert {result.outcome for result in results} <= {"landed", "already"}


def started(target: Callable[..., None], *args: Any) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            target(*args)
            status = 0
        finally:
            os._exit(status)
    return child


def ended(child: int) -> int:
    """0: finished; 3 and −SIGKILL: died as it was told; 1: an exception."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def empty_dictionaries(engine: Engine) -> None:
    """As on the first day, so that a landing commits every kind of dictionary row again."""
    with engine.begin() as connection:
        tables = 'function, stack, dim_value, label_set, sample_type, "binary", profile, chunk, line_chunk, roll_queue'
        connection.execute(text(f"TRUNCATE {tables} CASCADE"))


@pytest.mark.parametrize("when", [BEFORE, AFTER])
@pytest.mark.parametrize("generation", [1, 2])
def test_a_death_at_any_commit_leaves_all_or_nothing(
    engine: Engine, database_url: str, when: str, generation: int
) -> None:
    boundaries = 0
    for dies_at in range(1, 100):
        empty_dictionaries(engine)
        visits = [(visit_id, seed) for seed, visit_id in enumerate(archived(engine, 2))]
        if generation == 2:
            work(database_url, visits, 1, 0, when)
        status = ended(started(work, database_url, visits, generation, dies_at, when))
        assert status in (0, 3, -signal.SIGKILL)
        for visit_id, seed in visits:
            facts = stored(engine, visit_id)
            expected = expected_stacks(*random_capture(visit_id, seed, resolved_better=facts.generation > 1))
            assert facts.stacks == (expected if facts.generation else Counter())
            assert queued(engine, [visit_id])[visit_id] == ([(1, 0)] if facts.generation else [])
        assert len({stored(engine, visit_id).generation for visit_id, _ in visits}) == 1, "both or none"
        work(database_url, visits, generation, 0, when)  # the task comes again
        for visit_id, seed in visits:
            expected = expected_stacks(*random_capture(visit_id, seed, resolved_better=generation > 1))
            assert stored(engine, visit_id).stacks == expected
        if status == 0:
            break
        boundaries += 1
    assert status == 0
    assert boundaries > (3 if generation == 2 else 10), "a landing commits its dictionaries and itself"


def test_processes_that_die_at_random_land_each_capture_once(engine: Engine, database_url: str) -> None:
    rng = random.Random(4)
    visits = [(visit_id, seed % 7) for seed, visit_id in enumerate(archived(engine, 14))]
    for generation in (1, 2):
        crashes = 0
        with workers() as running:
            shares = [rng.sample(visits, 10), rng.sample(visits, 10), list(visits)]
            for share in shares:
                running[started(work, database_url, share, generation, rng.randrange(1, 20), AFTER)] = share
            while running:
                child, status = os.waitpid(-1, 0)
                share = running.pop(child)
                code = os.waitstatus_to_exitcode(status)
                assert code in (0, 3, -signal.SIGKILL)
                if code:
                    crashes += 1
                    dies_at = rng.randrange(1, 40)
                    running[
                        started(work, database_url, share, generation, dies_at, rng.choice([BEFORE, AFTER]))
                    ] = share
        assert crashes >= 1
        for visit_id, seed in visits:
            facts = stored(engine, visit_id)
            capture = random_capture(visit_id, seed, resolved_better=generation > 1)
            assert facts.generation == generation
            assert facts.stacks == expected_stacks(*capture)
            assert queued(engine, [visit_id])[visit_id] == [(1, 0)]


@contextmanager
def workers() -> Iterator[dict[int, list[tuple[UUID, int]]]]:
    """Children by process id; those still there when the test fails are ended."""
    running: dict[int, list[tuple[UUID, int]]] = {}
    try:
        yield running
    finally:
        for child in running:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
