"""A machine whose CPUs are all taken: the gateway samples less of it, says so, and its total stays right."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.gateway_daemon import Daemon, ask, plan, running

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted")]

BURN = "while True: pass"


@pytest.fixture
def crowd() -> Iterator[None]:
    """Twice as many programs as CPUs, so that nothing is idle; nice, so that other work goes first."""
    with ExitStack() as ending:
        for _ in range(2 * len(os.sched_getaffinity(0))):
            burner = ending.enter_context(subprocess.Popen(["nice", "-n", "10", sys.executable, "-c", BURN]))
            ending.callback(burner.kill)
        yield


@pytest.fixture
def frugal(tmp_path: Path) -> Iterator[Daemon]:
    with running(tmp_path, "--max-cpu-percent", "0.1") as daemon:
        yield daemon


@pytest.mark.slow
@pytest.mark.usefixtures("crowd")
def test_a_busy_machine_is_thinned_and_never_refused(frugal: Daemon):
    with frugal.stub() as stub:
        answer = ask(stub, plan(seconds=2))
    capture = answer.capture
    assert answer.refusal is None
    assert answer.begin is not None
    assert answer.end is not None
    assert answer.end.utilisation > 0.9
    first = capture.segments[0]
    assert first.period >= 2 * first.requested_period
    assert any("of the machine" in change for change in answer.begin.changes)
    sampled_s = sum(segment.samples * segment.period for segment in capture.segments) / 1e9
    busy_s = sum((cpu.user_ms + cpu.system_ms + cpu.irq_ms) / 1000 for cpu in capture.cpus)
    # Two accounts of one time; some hundred samples know it to a few percent.
    assert sampled_s == pytest.approx(busy_s, rel=0.2)
    assert sum(sum(segment.lost) for segment in capture.segments) == 0
