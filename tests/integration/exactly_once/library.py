"""The library of the patterns as a binary of the store: its debug file is uploaded, its symbols are built."""

import random
import tempfile
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Engine

from storage.archive import Archive
from storage.binaries import SeenBinary
from storage.ingest.symbolized import Status
from storage.symbols import builds, caches, candidates
from storage.symbols.candidates import UPLOAD, Candidate
from storage.symbols.kinds import FileKind, Quality
from symbolizer.addresses import FileOffsets
from symbolizer.builds.symcaches import local_symcaches
from symbolizer.images.image import Image, ImageFrames
from symbolizer.sources.chain import Chain
from symbolizer.worker.function_naming import FunctionNamer
from tests.integration.exactly_once.made import STARTS
from tests.synthetic_captures import LIBRARY

KEY = LIBRARY.hex()
PRODUCER = "a-producer-1"
LEASE_S = 0.05
"""A builder that died is followed soon."""


class _Named:
    """The library with its names, as an image."""

    status = Status.FULL
    reason = ""

    def frames(self, offsets: FileOffsets) -> ImageFrames:
        known = [STARTS.get(offset) for offset in offsets.values.tolist()]
        depth = np.array([name is not None for name in known], np.int64)
        names = [(name, 0) for name in known if name is not None]
        status = np.where(depth, Status.FULL, Status.BINARY_ONLY).astype(np.uint8)
        return ImageFrames(status, np.append(0, np.cumsum(depth)), np.arange(len(names)), names)


class LibraryNamer(FunctionNamer):
    """As the symbolizer's, but that the library needs no file."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, Chain([]), local_symcaches(Path("/nonexistent")))

    def _image(self, key: str, seen: SeenBinary) -> Image | None:
        return _Named() if key == KEY else super()._image(key, seen)


def upload(engine: Engine, archive: Archive, content: bytes = b"the library's debug file") -> None:
    """Add a debug file of the library; its bytes are nobody's concern here."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        candidates.add(
            engine,
            archive,
            Candidate(KEY, FileKind.DEBUGINFO, Quality.DWARF, Path(file.name), UPLOAD, "lib.so.debug"),
        )


def build(engine: Engine, archive: Archive, content: bytes) -> bool:
    """Build the library's symbols from the file of that content, unless they are; False: somebody does it now."""
    source = content[:32].ljust(32)
    with engine.connect() as connection:
        known = caches.find(connection, KEY, PRODUCER)
    if known is not None and known.source_sha256 == source:
        return True
    with pytest.MonkeyPatch.context() as patch, engine.begin() as connection:
        patch.setattr(builds, "ATTEMPTS_LIMIT", 10**6)  # here builders die of the test, not of the file
        lease = builds.claim_build(connection, KEY, PRODUCER, LEASE_S, source=source)
    if lease is None:
        return False
    with tempfile.NamedTemporaryFile() as file:
        file.write(made_of(content))
        file.flush()
        finished = builds.finish(engine, archive, lease, Path(file.name), cpu_s=0.1, peak_rss_bytes=1)
    return finished is not None


def made_of(content: bytes) -> bytes:
    """What is built from a debug file of that content."""
    return b"built from " + content * 100


def built(engine: Engine, archive: Archive, folder: Path) -> bytes | None:
    """What every worker gets as the library's symbols: whole, or nothing."""
    with engine.connect() as connection:
        found = caches.find(connection, KEY, PRODUCER)
    if found is None:
        return None
    target = folder / f"fetched-{random.randrange(10**9)}"
    caches.fetch(archive, found, target)
    content = target.read_bytes()
    target.unlink()
    return content
