"""Binaries: what is known of each one's symbols, for whoever asks why something has no name."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, case, select, update

from storage.ingest.symbolized import BinaryReport, Status
from storage.schema import binary

_NAMES = {status: status.name.lower() for status in Status}


def note_symbols(connection: Connection, reports: Iterable[BinaryReport]) -> list[BinaryReport]:
    """Keep the best status any worker had for each binary, and why it is not full.

    Workers see different files: what one cannot find takes nothing from what another did. A binary
    without a row is left out. Those of binaries that had worse symbols before are returned: captures were
    ingested with those.
    """
    better = []
    rank = case({name: int(status) for status, name in _NAMES.items()}, value=binary.c.status, else_=0)
    for report in sorted(reports, key=lambda report: report.key):  # in one order, so that none deadlock
        before = connection.execute(
            select(binary.c.binary_id, rank.label("rank"))
            .where(binary.c.key == report.key)
            .with_for_update(key_share=True)
        ).one_or_none()
        if before is None or before.rank > int(report.status):
            continue
        connection.execute(
            update(binary)
            .where(binary.c.binary_id == before.binary_id)
            .values(status=_NAMES[report.status], reason=report.reason[:2000])
        )
        if Status.UNKNOWN < before.rank < report.status:
            better.append(report)
    return better


@dataclass(frozen=True, slots=True)
class SeenBinary:
    """A binary that captures hold."""

    name: str
    path: str
    """Where it was first seen."""
    kind: str
    """As in `storage.schema.binary.kind`."""


def find_binary(connection: Connection, key: str) -> SeenBinary | None:
    """The binary of a key; None: no capture holds it."""
    row = connection.execute(
        select(binary.c.name, binary.c.path, binary.c.kind).where(binary.c.key == key)
    ).one_or_none()
    return None if row is None else SeenBinary(row.name, row.path, row.kind)


def find_path(connection: Connection, key: str) -> str:
    """Where a machine that ran the binary has it; '' if none was seen to."""
    return connection.scalar(select(binary.c.path).where(binary.c.key == key)) or ""
