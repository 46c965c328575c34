"""Reads the captures of chosen visits and adds up their samples by address."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from storage.archive import Archive
from storage.errors import BadCapture, BlobMissing, BlobTooLarge
from storage.ingest.decode_capture import MAX_BLOB_BYTES, decode_capture
from storage.ingest.leaf_addresses import LeafAddresses, SummedAddresses, leaf_addresses, summed
from storage.query.shapes.function_visits import ChosenVisit

MOST_SECONDS: Final = 10.0
"""For reading all captures of an answer."""
MOST_RAW_BYTES: Final = 128 << 20
"""Of one capture, decompressed: a minute at 999 Hz on 128 CPUs is under it."""


@dataclass(frozen=True, slots=True)
class ReadCaptures:
    """The sums, and what was read."""

    addresses: SummedAddresses
    read: int
    not_kept: int
    """Captures deleted because of their age."""
    unreadable: int
    """Captures missing from the archive, or damaged."""
    bytes: int
    """Compressed size of those that were read."""
    stopped: bool
    """The time was over before all were read."""


def read_captures(
    archive: Archive,
    visits: Sequence[ChosenVisit],
    binary_key: str,
    *,
    most_seconds: float = MOST_SECONDS,
    clock: Callable[[], float] = monotonic,
) -> ReadCaptures:
    """The samples in a binary of these visits' captures, in the order of the visits. Raises `ArchiveUnavailable`."""
    parts: list[tuple[float, LeafAddresses]] = []
    not_kept = unreadable = size = 0
    stopped = False
    deadline = clock() + most_seconds
    for visit in visits:
        if clock() >= deadline:
            stopped = True
            break
        if not visit.blob:
            not_kept += 1
            continue
        try:
            blob = archive.get(visit.blob, limit=MAX_BLOB_BYTES)
            message = decode_capture(blob, max_raw_bytes=MOST_RAW_BYTES)
        except (BlobMissing, BlobTooLarge, BadCapture):
            unreadable += 1
            continue
        size += len(blob)
        parts.append((visit.weight, leaf_addresses(message, binary_key, visit.id, visit.profiles)))
    return ReadCaptures(summed(parts), len(parts), not_kept, unreadable, size, stopped)
