"""A PostgreSQL of its own, set up as `fleetprof up` does, that is killed without a word."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from services.embedded.postgres import DATABASE, EmbeddedPostgres


class MortalServer:
    """The server and all its processes; commits wait for their log to be written or not as they do in production.

    Only the kernel is not told to bring it to the disk: what was written outlives every process of the server, and no
    test ends the machine.
    """

    def __init__(self, directory: Path) -> None:
        self._server = EmbeddedPostgres(directory, options={"fsync": "off"})
        self.kills = 0

    def url(self, database: str = DATABASE) -> str:
        """Where a database of it is reached."""
        return self._server.url(database)

    def start(self) -> None:
        """Return once it answers, recovered from whatever happened to it."""
        self._server.start()

    def stop(self) -> None:
        """End it in order."""
        self._server.stop()

    def kill(self) -> None:
        """End the postmaster and every process of it with SIGKILL, as the machine's end would.

        What was in memory only is lost: write-ahead log that no commit waited for too. The postmaster
        is stopped first, or it would notice a child's death and tell the others.
        """
        postmaster = self._server.pid
        assert postmaster is not None
        os.kill(postmaster, signal.SIGSTOP)
        children = _children(postmaster)
        for pid in (*children, postmaster):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.kills += 1
        end = time.monotonic() + 30
        while any(_alive(pid) for pid in (*children, postmaster)):
            assert time.monotonic() < end, "a process of the server does not end"
            time.sleep(0.005)


def _children(parent: int) -> list[int]:
    return [
        int(folder.name) for folder in Path("/proc").glob("[0-9]*") if _stat(folder)[1:2] == [str(parent)]
    ]


def _alive(pid: int) -> bool:
    return _stat(Path(f"/proc/{pid}"))[:1] not in ([], ["Z"], ["X"])


def _stat(folder: Path) -> list[str]:
    """Fields of a process from its state on; empty: there is none."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
