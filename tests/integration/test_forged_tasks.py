"""GIVEN a broker in a stranger's hands WHEN it sends what it likes THEN workers run their own tasks and no other code."""

import json
import os
import pickle
from pathlib import Path

import pytest
from kombu import Connection
from sqlalchemy import Engine, text

from storage.archive import Archive
from storage.captures import Due
from symbolizer.worker import routing
from symbolizer.worker.broker import make_broker, make_sender
from tests.pending_captures import PendingCaptures
from tests.polling import until
from tests.worker_process import worker

pytestmark = pytest.mark.integration


class _Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.slow
def test_forged_messages_run_nothing_and_stop_nothing(
    engine: Engine, valkey_url: str, database_url: str, tmp_path: Path
) -> None:
    fleet = PendingCaptures(engine, Archive(str(tmp_path / "archive")))
    visit_id = fleet.archive()
    touched, secret = tmp_path / "touched", tmp_path / "secret"
    secret.write_text("hunter2 is the password")
    app = make_broker(valkey_url)
    with worker(valkey_url, database_url, tmp_path) as process:
        with Connection(valkey_url) as broker, broker.SimpleQueue(routing.NAMES) as queue:
            queue.producer.publish(
                pickle.dumps(_Touch(touched)),
                content_type="application/x-python-serialize",
                content_encoding="binary",
                routing_key=routing.NAMES,
            )
            queue.producer.publish(b"{", content_type="application/json", routing_key=routing.NAMES)
        for name in ("os.system", "symbolizer.worker.tasks.worker_main", "celery.accumulate"):
            app.send_task(name, args=[f"touch {touched}"], queue=routing.NAMES)
        app.send_task("symbolizer.build_symcache", args=["ab" * 20, str(secret)], queue=routing.BUILDS)
        app.send_task("symbolizer.ingest_capture", args=["../../secret"], queue=routing.new_queue(0))
        app.control.shutdown()
        app.control.pool_grow(64)
        make_sender(valkey_url)(Due(visit_id, 1, partition=visit_id.int, again=False))
        until(lambda: fleet.ingested(visit_id), "the honest task's capture ingested")
        assert process.poll() is None
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) <= 2
    assert not touched.exists()
    with engine.connect() as connection:
        kept = json.dumps(connection.scalars(text("SELECT to_jsonb(d)::text FROM debug_file d")).all())
    assert "hunter2" not in kept
    assert os.fsencode("hunter2") not in b"".join(
        path.read_bytes() for path in (tmp_path / "archive").rglob("*") if path.is_file()
    )
