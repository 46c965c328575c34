"""GIVEN a process of a pool WHEN it has had no task for a while THEN it ends as one to be replaced, unless it never worked."""

import os
import signal

import pytest
from billiard.pool import EX_RECYCLE
from celery.signals import task_postrun, task_prerun

from symbolizer.worker.idle_exit import IdleExit


@pytest.fixture(autouse=True)
def signals():
    before = [(each, list(each.receivers)) for each in (task_prerun, task_postrun)]
    yield
    for each, receivers in before:
        each.receivers = receivers


def test_it_is_over_so_long_after_the_last_task():
    now = 0.0
    idleness = IdleExit(60.0, lambda: now)
    now = 1000.0
    assert not idleness.over, "it never worked"
    task_prerun.send(sender=None)
    now = 2000.0
    assert not idleness.over, "it works"
    task_postrun.send(sender=None)
    now = 2059.0
    assert not idleness.over
    now = 2060.0
    assert idleness.over
    task_prerun.send(sender=None)
    assert not idleness.over


def test_the_process_ends_as_one_that_the_pool_replaces():
    pid = os.fork()
    if pid == 0:
        IdleExit(0.01).end_when_idle()
        task_postrun.send(sender=None)
        signal.alarm(30)
        signal.pause()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == EX_RECYCLE
