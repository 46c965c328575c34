"""A worker in a process of its own, on a broker, a database and an archive of the test's."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.polling import until

WORKER = """
import sys
from pathlib import Path
from symbolizer.sources.chain import SourceSettings
from symbolizer.worker.ingestion import LeaseTerms
from symbolizer.worker.tasks import make_app, worker_main
from symbolizer.worker.memory_limit import limit_memory
broker, database, archive, cache, pool, lease_s, memory = sys.argv[1:]
limit_memory(int(memory))  # which the processes of its pool inherit
app = make_app(broker, database_url=database, archive_url=archive, places=SourceSettings(Path(cache)), terms=LeaseTerms(float(lease_s)))
worker_main(app, processes=1, pool=pool)
"""


@contextmanager
def worker(
    valkey_url: str,
    database_url: str,
    tmp_path: Path,
    *,
    pool: str = "prefork",
    lease_s: float = 60,
    memory_bytes: int = 0,
) -> Iterator[subprocess.Popen[bytes]]:
    arguments = [
        valkey_url,
        database_url,
        str(tmp_path / "archive"),
        str(tmp_path / "cache"),
        pool,
        str(lease_s),
        str(memory_bytes),
    ]
    log = tmp_path / "worker.log"
    with log.open("ab") as output:
        process = subprocess.Popen([sys.executable, "-c", WORKER, *arguments], stdout=output, stderr=output)
    try:
        until(lambda: process.poll() is not None or " ready." in log.read_text(), "a worker that consumes")
        assert process.poll() is None, log.read_text()
        yield process
    finally:
        process.terminate()
        process.wait(60)
