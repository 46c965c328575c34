"""Servers of debug files when this machine's disk fails; a real server is in tests/integration/test_debuginfod.py."""

import errno
from pathlib import Path

import pytest

from symbolizer.identity import ImageIdentity
from symbolizer.sources.debuginfod import Debuginfod
from symbolizer.sources.debuginfod_client import DebuginfodClient, Fetched, NotFetched
from symbolizer.sources.download_folder import DownloadFolder
from symbolizer.sources.source import Missing
from tests.memory_negative_cache import MemoryNegativeCache

WHO = ImageIdentity("0102030405", "x", "/x", bytes(range(1, 6)), "")
URL = "http://debuginfod.invalid"


class FullDisk(DebuginfodClient):
    def fetch(
        self, build_id: bytes, what: str, target: Path, *, limit: int | None = None
    ) -> Fetched | NotFetched:
        raise OSError(errno.ENOSPC, "No space left on device", str(target))


@pytest.mark.parametrize("below", ["", "file/copies"])
def test_a_disk_that_takes_nothing_is_this_machines_own_matter(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    notes = MemoryNegativeCache()
    servers = Debuginfod([FullDisk(URL)], notes, DownloadFolder(tmp_path / below))
    missing = servers.debug_file(WHO, None)
    assert isinstance(missing, Missing)
    assert "cannot store a copy" in missing.reason
    assert notes.known(WHO.key, "debuginfo", URL) is None
