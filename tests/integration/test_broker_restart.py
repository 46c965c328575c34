"""GIVEN a worker in the middle of a task WHEN the broker is killed and comes back THEN the worker takes messages again."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from services.embedded.valkey import EmbeddedValkey
from symbolizer.worker.broker import make_caller
from tests.polling import until

pytestmark = pytest.mark.integration

WORKER = """
import sys, time
from pathlib import Path
from symbolizer.worker.broker import NAME_FUNCTIONS, make_broker
from symbolizer.worker.tasks import worker_main
app = make_broker(sys.argv[1])
@app.task(name=NAME_FUNCTIONS)
def wait_for_file(key, why):
    folder = Path(key)
    (folder / "begun").touch()
    while not (folder / "end").exists():
        time.sleep(0.02)
    (folder / "ended").touch()
worker_main(app, processes=1, pool=sys.argv[2])
"""


@pytest.fixture
def own_valkey(server_directory: Path):
    server = EmbeddedValkey(server_directory / "killed-valkey")
    server.start()
    yield server
    server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_a_worker_whose_acknowledgement_failed_goes_on(
    own_valkey: EmbeddedValkey, tmp_path: Path, pool: str
) -> None:
    log = tmp_path / "worker.log"
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
    with log.open("wb") as output:
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, own_valkey.url(), pool], stdout=output, stderr=output
        )
    try:
        make_caller(own_valkey.url())(str(folders[0]), "")
        until((folders[0] / "begun").exists, "the first task runs")
        pid = own_valkey.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        until(lambda: own_valkey.pid is None, "the broker is dead")
        (folders[0] / "end").touch()
        until(lambda: "Couldn't ack" in log.read_text(), "the acknowledgement fails")
        own_valkey.start()
        (folders[1] / "end").touch()
        make_caller(own_valkey.url())(str(folders[1]), "")
        until((folders[1] / "ended").exists, "the second task is done", seconds=60)
    finally:
        worker.kill()
        worker.wait()
