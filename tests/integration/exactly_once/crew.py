"""Processes that work on one database at once, die as planned, and are started again."""

import json
import mmap
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Self
from uuid import UUID

from sqlalchemy import Engine

from storage.archive import Archive
from storage.database import open_engine
from storage.errors import DatabaseError
from tests.integration.exactly_once.faults import CRASHED, Commits, Fault, Plan
from tests.integration.exactly_once.truth import Dropped
from tests.integration.exactly_once.world import World

DEADLINE_S = 120.0


class Journal:
    """Lines that processes append and that outlive them, whatever they die of."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def note(self, what: str, **details: object) -> None:
        """Append a line, whole or not at all."""
        os.write(self._file, json.dumps({"what": what, **details}, default=str).encode() + b"\n")

    def lines(self, what: str) -> list[dict[str, Any]]:
        """The lines of a kind."""
        noted = [json.loads(line) for line in self._path.read_bytes().splitlines()]
        return [line for line in noted if line["what"] == what]

    def counts(self) -> Counter[str]:
        """Lines by kind."""
        return Counter(json.loads(line)["what"] for line in self._path.read_bytes().splitlines())

    def ingestions(self) -> dict[UUID, int]:
        """For each visit the newest generation that somebody saw committed."""
        newest: dict[UUID, int] = {}
        for line in self.lines("ingested"):
            visit_id = UUID(line["visit"])
            newest[visit_id] = max(newest.get(visit_id, 0), line["generation"])
        return newest

    def note_dropped(self, day: date, visits: Dropped) -> None:
        """Note what a day holds whose facts are about to be dropped; the last note of a day counts."""
        self.note("dropping", day=day, visits={str(visit_id): how for visit_id, how in visits.items()})

    def dropped(self) -> dict[date, Dropped]:
        """What the days held that were dropped, or nearly."""
        return {
            date.fromisoformat(line["day"]): {
                UUID(visit_id): (better, labels) for visit_id, (better, labels) in line["visits"].items()
            }
            for line in self.lines("dropping")
        }


@dataclass(frozen=True, slots=True)
class Stage:
    """What all processes of a crew share."""

    url: str
    world: World
    archive: Archive
    journal: Journal
    generations: int = 3
    """Captures are ingested anew until they have this many."""


@dataclass(frozen=True, slots=True)
class Actor:
    """What a process is told."""

    role: str
    stage: Stage
    engine: Engine
    rng: random.Random
    stopping: Callable[[], bool]

    @property
    def world(self) -> World:
        """The stage's."""
        return self.stage.world

    @property
    def journal(self) -> Journal:
        """The stage's."""
        return self.stage.journal

    def turns(self) -> Iterator[AbstractContextManager[None]]:
        """One after the other until it is time to end; a `DatabaseError` within one is noted and ends it."""
        while not self.stopping():
            yield self._turn()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        try:
            yield
        except DatabaseError as error:
            self.note_error(error)
            time.sleep(0.01)

    def note_error(self, error: Exception) -> None:
        """Note a `DatabaseError`; raise any other."""
        if not isinstance(error, DatabaseError):
            raise error
        self.journal.note("error", role=self.role, kind=type(error).__name__, why=str(error))


Role = Callable[[Actor], None]
"""Works until `Actor.stopping`."""


class Crew:
    """Children of this process, by role. Whoever dies of its plan is started again with another one."""

    def __init__(self, stage: Stage, seed: int, *, crashes: int = 0) -> None:
        """After so many `crashes` nobody dies any more."""
        self.journal = stage.journal
        self.crashes: Counter[str] = Counter()
        self._stage = stage
        self._most = crashes
        self._rng = random.Random(seed)
        self._flag = mmap.mmap(-1, 1)  # shared with every child
        self._running: dict[int, tuple[str, Role, int]] = {}

    def start(self, role: Role, *, name: str = "", commits: int = 0) -> None:
        """Start a process; `commits` > 0: it meets a fault at one of that many commits, again and again."""
        seed = self._rng.getrandbits(32)
        plan = None
        if commits and not self.is_calm:
            plan = Plan(self._rng.choice(list(Fault)), self._rng.randrange(1, commits + 1))
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                self._live(role, plan, random.Random(seed))
                status = 0
            except BaseException:  # noqa: BLE001 - a child must not return into the test
                traceback.print_exc()
            finally:
                os._exit(status)
        self._running[child] = (name or role.__name__, role, commits)

    def _live(self, role: Role, plan: Plan | None, rng: random.Random) -> None:
        engine = open_engine(self._stage.url, application=role.__name__)
        Commits(engine, plan)
        role(Actor(role.__name__, self._stage, engine, rng, lambda: self._flag[0] != 0))

    def tend(self) -> None:
        """Start again who died as planned. Raises AssertionError for any other end."""
        # One by one: others of this process's children, those of other tests too, are not the crew's to reap.
        for child in list(self._running):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                self._ended(child, status)

    def _ended(self, child: int, status: int) -> None:
        name, role, commits = self._running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        if code in CRASHED:
            self.crashes[name] += 1
            if self._flag[0] == 0:
                self.start(role, name=name, commits=commits)
        else:
            assert code == 0, f"{name} ended with {code}"

    @property
    def is_calm(self) -> bool:
        """Whether enough have died; those who meet a broken connection only are not counted."""
        return self.crashes.total() >= self._most

    def kill_one(self) -> None:
        """End one of those that may die, wherever it is; none any more when enough did."""
        mortal = [child for child, (_, _, commits) in self._running.items() if commits]
        if mortal and not self.is_calm:
            os.kill(self._rng.choice(mortal), signal.SIGKILL)

    def until(self, condition: Callable[[], bool], what: str, *, deadline_s: float = DEADLINE_S) -> None:
        """Tend until the condition holds."""
        end = time.monotonic() + deadline_s
        while not condition():
            assert time.monotonic() < end, (
                f"not in {deadline_s:.0f} s: {what}; {dict(self.crashes)} died, noted {self.journal.counts()}"
            )
            self.tend()
            time.sleep(0.1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        self._flag[0] = 1
        end = time.monotonic() + 20
        while self._running:
            late = time.monotonic() > end
            for child in list(self._running):
                if failed or late:
                    os.kill(child, signal.SIGKILL)
                ended, status = os.waitpid(child, os.WNOHANG if not failed else 0)
                if ended and not failed:
                    self._ended(child, status)
                elif ended:
                    del self._running[child]
            time.sleep(0.01)
        self._flag.close()
