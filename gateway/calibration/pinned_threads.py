"""Runs work on chosen CPUs at the same time."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Step = Callable[[], int]
    """Work for some milliseconds without the interpreter's lock; returns the units done."""


@dataclass(frozen=True, slots=True)
class ThreadResult:
    """The work of one thread."""

    units: int
    cpu_s: float
    wall_s: float

    @property
    def rate(self) -> float:
        """Units per CPU second, > 0."""
        return self.units / max(self.cpu_s, 1e-9)

    @property
    def ran(self) -> float:
        """The share of the time in which it had its CPU."""
        return self.cpu_s / max(self.wall_s, 1e-9)


class _Worker(threading.Thread):
    """One pinned thread. Affinity belongs to the thread: the interpreter's others are not affected."""

    def __init__(
        self, cpu: int, step: Step, start: threading.Barrier, seconds: float, halted: Callable[[], bool]
    ) -> None:
        super().__init__(name=f"calibrate-{cpu}", daemon=True)
        self._cpu, self._step, self._line = cpu, step, start
        self._seconds, self._halted = seconds, halted
        self.done: ThreadResult | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        """One step to warm up, then steps together with the others until the time is over."""
        try:
            os.sched_setaffinity(0, {self._cpu})
            self._step()
            self._line.wait()
            began, cpu = time.monotonic(), time.thread_time()
            units = self._step()
            while (now := time.monotonic()) - began < self._seconds and not self._halted():
                units += self._step()
            self.done = ThreadResult(units, time.thread_time() - cpu, now - began)
        except threading.BrokenBarrierError:
            pass  # another thread has the error
        except Exception as error:  # noqa: BLE001 - raised again by whoever waits
            self.error = error
            self._line.abort()


@contextmanager
def pinned(cpu: int) -> Iterator[None]:
    """Run the calling thread on this CPU only. Raises OSError for a CPU that is not permitted."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def run_together(
    steps: Mapping[int, Step], seconds: float, halted: Callable[[], bool]
) -> dict[int, ThreadResult]:
    """Repeat each step on its CPU for `seconds`, or until `halted`. Raises OSError for a CPU that is not permitted."""
    line = threading.Barrier(len(steps))
    workers = {cpu: _Worker(cpu, step, line, seconds, halted) for cpu, step in steps.items()}
    started = []
    try:
        for worker in workers.values():
            worker.start()
            started.append(worker)
    except RuntimeError as error:  # the limit of threads is reached
        line.abort()
        raise OSError(str(error)) from error
    finally:
        for worker in started:
            worker.join()
    for worker in workers.values():
        if worker.error is not None:
            raise worker.error
    return {cpu: worker.done for cpu, worker in workers.items() if worker.done is not None}
