"""The real daemon when a capture grows: it ends early with all it has, and the next visit is served."""

import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetpb import capture_pb2, gateway_pb2
from gateway.capture.quota import resident_memory
from tests.gateway_daemon import (
    DEADLINE_S,
    Answer,
    Daemon,
    ask,
    groups_where,
    plan,
    running,
    stacks_of,
    wait_until,
)

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("permitted"), pytest.mark.slow]
# Beyond what every capture takes: of tables of the binaries that run here 8 MiB or so, then of stacks 2 MiB a second.
_GROWTH_MIB = 10


@pytest.fixture(scope="module")
def labyrinth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A hostile program: almost every sample of it is another stack, some sixty frames deep."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    binary = tmp_path_factory.mktemp("labyrinth") / "labyrinth"
    source = Path(__file__).with_name("labyrinth.c")
    subprocess.run([compiler, "-O1", "-fno-optimize-sibling-calls", "-o", binary, source], check=True)
    with subprocess.Popen([binary]) as process:
        try:
            yield binary
        finally:
            process.kill()


def whole(answer: Answer, binary: Path) -> capture_pb2.Capture:
    """The capture, which is one like any other: `capture` checks its tables and sums."""
    capture = answer.capture
    assert stacks_of(capture, groups_where(capture, exe=str(binary)))
    assert all(len(segment.lost) == len(segment.cpus) for segment in capture.segments)
    return capture


def ended_early(capture: capture_pb2.Capture) -> str:
    return next((note for note in capture.notes if note.startswith("the capture ended after")), "")


def test_a_capture_that_reaches_its_bytes_ends_early_and_says_so(tmp_path: Path, labyrinth: Path):
    with running(tmp_path, "--max-mib", "0.0625") as daemon, daemon.stub() as stub:
        answer = ask(stub, plan(seconds=25, rate_hz=499))
        capture = whole(answer, labyrinth)
        assert "of 25 s: it reached 0.0625 MiB" in ended_early(capture)
        assert answer.end is not None
        assert 0 < answer.end.seconds < 25
        # At most what one drain brings above the limit.
        assert answer.end.raw_bytes < 4 * 0.0625 * (1 << 20)


def test_with_room_enough_the_same_capture_goes_to_its_end(tmp_path: Path, labyrinth: Path):
    with running(tmp_path) as daemon, daemon.stub() as stub:
        assert not ended_early(whole(ask(stub, plan(seconds=1, rate_hz=499)), labyrinth))


def test_an_exact_plan_is_refused_instead(tmp_path: Path, labyrinth: Path):
    with running(tmp_path, "--max-mib", "0.0625") as daemon, daemon.stub() as stub:
        refusal = ask(stub, plan(seconds=25, rate_hz=499, exact=True)).refusal
    assert refusal is not None
    assert refusal.reason == gateway_pb2.Refusal.NOT_ALLOWED
    assert "--max-mib" in refusal.message


@pytest.fixture(scope="module")
def memory_after_a_small_capture(tmp_path_factory: pytest.TempPathFactory) -> int:
    """Bytes, of a server here that has taken a short one while nothing makes new stacks."""
    with running(tmp_path_factory.mktemp("base")) as daemon, daemon.stub() as stub:
        assert not ended_early(ask(stub, plan(seconds=0.2)).capture)
        assert daemon.server is not None
        return resident_memory(Path(f"/proc/{daemon.server}/statm"))


def test_memory_that_is_spent_ends_the_capture_and_the_process_and_not_the_daemon(
    tmp_path: Path, memory_after_a_small_capture: int, labyrinth: Path
):
    limit = memory_after_a_small_capture / (1 << 20) + _GROWTH_MIB
    with running(tmp_path, "--max-memory-mib", f"{limit:.3f}") as daemon:
        for _ in range(2):
            served_by = serving(daemon)
            with daemon.stub() as stub:
                answer = ask(stub, plan(seconds=25, rate_hz=499))
            assert "--max-memory-mib" in ended_early(whole(answer, labyrinth))
            assert answer.end is not None
            assert answer.end.samples >= 100, "it is what it keeps of samples that grows"
            wait_until("the process has ended", lambda: daemon.server != served_by)  # noqa: B023 - called at once
        assert "memory limit is too low" not in daemon.log.read_text()
        assert "server died" not in daemon.log.read_text()
        assert daemon.process.poll() is None


def serving(daemon: Daemon) -> int:
    """The server's pid, after a call that made sure that there is one."""
    with daemon.stub() as stub:
        stub.Health(gateway_pb2.HealthRequest(), timeout=DEADLINE_S, wait_for_ready=True)
    assert daemon.server is not None
    return daemon.server


def test_a_server_that_dies_in_a_capture_costs_that_capture_only(tmp_path: Path):
    visit = uuid.uuid4().bytes
    with running(tmp_path) as daemon:
        server = serving(daemon)
        with daemon.stub() as stub:
            stream = stub.Capture(plan(seconds=25, visit_id=visit), timeout=DEADLINE_S)
            assert next(stream).WhichOneof("reply") == "begin"
            os.kill(server, signal.SIGKILL)
            with pytest.raises(Exception, match="UNAVAILABLE"):
                list(stream)
        with daemon.stub() as stub:
            assert ask(stub, plan(seconds=0.1)).end
            # It was begun, so it is not begun again: the ledger is the daemon's.
            refusal = ask(stub, plan(seconds=0.1, visit_id=visit)).refusal
        assert refusal is not None
        assert refusal.reason == gateway_pb2.Refusal.REPEATED
