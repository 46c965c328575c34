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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Engine

from storage.database import open_engine
from storage.errors import DatabaseError
from tests.integration.exactly_once.faults import CRASHED, Commits, Fault, Plan
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


@dataclass(frozen=True, slots=True)
class Actor:
    """What a process is told."""

    url: str
    engine: Engine
    world: World
    journal: Journal
    rng: random.Random
    stopping: Callable[[], bool]

    def again(self) -> Iterator[None]:
        """Turns until it is time to end."""
        while not self.stopping():
            yield


Role = Callable[[Actor], None]
"""Works until `Actor.stopping`; may raise `DatabaseError`, after which it is called again with all it forgot."""


class Crew:
    """Children of this process, by role. Whoever dies of its plan is started again with another one."""

    def __init__(self, url: str, world: World, folder: Path, seed: int) -> None:
        self.journal = Journal(folder / "journal")
        self.crashes: Counter[str] = Counter()
        self._url = url
        self._world = world
        self._rng = random.Random(seed)
        self._flag = mmap.mmap(-1, 1)  # shared with every child
        self._running: dict[int, tuple[str, Role, int]] = {}

    def start(self, role: Role, *, name: str = "", commits: int = 0) -> None:
        """Start a process; `commits` > 0: it meets a fault at one of that many commits, again and again."""
        seed = self._rng.getrandbits(32)
        plan = None
        if commits:
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
        engine = open_engine(self._url, application=role.__name__)
        Commits(engine, plan)
        actor = Actor(self._url, engine, self._world, self.journal, rng, lambda: self._flag[0] != 0)
        while not actor.stopping():
            try:
                role(actor)
            except DatabaseError as error:
                self.journal.note("error", role=role.__name__, kind=type(error).__name__, why=str(error))
                time.sleep(0.01)

    def tend(self) -> None:
        """Start again who died as planned. Raises AssertionError for any other end."""
        while self._running:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
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

    def maybe_kill(self, chance: float) -> None:
        """End one of those that may die, wherever it is."""
        mortal = [child for child, (_, _, commits) in self._running.items() if commits]
        if mortal and self._rng.random() < chance:
            os.kill(self._rng.choice(mortal), signal.SIGKILL)

    def until(self, condition: Callable[[], bool], what: str, *, deadline_s: float = DEADLINE_S) -> None:
        """Tend until the condition holds."""
        end = time.monotonic() + deadline_s
        while not condition():
            assert time.monotonic() < end, f"not in {deadline_s:.0f} s: {what}"
            self.tend()
            time.sleep(0.05)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        self._flag[0] = 1
        end = time.monotonic() + 20
        while self._running:
            if failed or time.monotonic() > end:
                for child in self._running:
                    os.kill(child, signal.SIGKILL)
            child, status = os.waitpid(-1, os.WNOHANG if not failed else 0)
            if child and not failed:
                self._ended(child, status)
            elif child:
                del self._running[child]
            else:
                time.sleep(0.01)
        self._flag.close()
