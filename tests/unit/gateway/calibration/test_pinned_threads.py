"""GIVEN steps and CPUs WHEN they are run together THEN each runs on its CPU until it is over, halted or broken."""

import os
import threading

import pytest

from gateway.calibration.pinned_threads import ThreadResult, pinned, run_together

HERE = min(os.sched_getaffinity(0))


def test_each_step_runs_on_its_own_cpu_at_the_same_time():
    cpus = sorted(os.sched_getaffinity(0))[:2]
    met = threading.Barrier(len(cpus))
    seen: dict[int, set[frozenset[int]]] = {cpu: set() for cpu in cpus}

    def on(cpu):
        waiting = [met]

        def step() -> int:
            if waiting:  # nobody gets on unless all are there
                waiting.pop().wait(30)
            seen[cpu].add(frozenset(os.sched_getaffinity(0)))
            return 3

        return step

    done = run_together({cpu: on(cpu) for cpu in cpus}, 0.01, lambda: False)
    assert seen == {cpu: {frozenset({cpu})} for cpu in cpus}
    for each in done.values():
        assert each.units % 3 == 0
        assert each.units > 0
        assert each.wall_s >= 0.01
    assert os.sched_getaffinity(0) >= set(cpus), "only the threads are pinned"


def test_halted_it_ends_after_the_step_under_way():
    steps = []

    def step() -> int:
        steps.append(1)
        return 1

    done = run_together({HERE: step}, 3600, lambda: True)
    assert done[HERE].units == 1
    assert len(steps) == 2, "one to warm up"


def test_what_breaks_one_thread_ends_all():
    def broken() -> int:
        raise ZeroDivisionError

    cpus = sorted(os.sched_getaffinity(0))[:2]
    with pytest.raises(ZeroDivisionError):
        run_together(
            dict(zip(cpus, (broken, lambda: 1) if len(cpus) > 1 else (broken,), strict=True)),
            3600,
            lambda: False,
        )
    with pytest.raises(OSError, match="Invalid argument"):
        run_together({HERE: lambda: 1, 8191: lambda: 1}, 3600, lambda: False)


def test_rates_are_by_cpu_time():
    done = ThreadResult(units=100, cpu_s=0.5, wall_s=1.0)
    assert (done.rate, done.ran) == (200.0, 0.5)


def test_a_pinned_thread_is_freed_again():
    before = os.sched_getaffinity(0)
    with pinned(HERE):
        assert os.sched_getaffinity(0) == {HERE}
    assert os.sched_getaffinity(0) == before
