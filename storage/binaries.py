"""Binaries and their symbol status, which explains missing names."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, case, select, update

from storage.ingest.symbolized import BinaryReport, Status
from storage.schema import binary

_NAMES = {status: status.name.lower() for status in Status}


def note_symbols(connection: Connection, reports: Iterable[BinaryReport]) -> list[BinaryReport]:
    """Store the best status that any worker found for each binary, and why it is not full.

    Workers see different files, so a worse status never replaces a better one. A binary without a row is ignored.
    Returns the reports of binaries whose symbols were worse before: captures were ingested with those.
    """
    better = []
    rank = case({name: int(status) for status, name in _NAMES.items()}, value=binary.c.status, else_=0)
    for report in sorted(reports, key=lambda report: report.key):  # a fixed order prevents deadlocks
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
    """A binary in captures."""

    name: str
    path: str
    """Path at first sight."""
    kind: str
    """As in `storage.schema.binary.kind`."""


def find_binary(connection: Connection, key: str) -> SeenBinary | None:
    """The binary of a key; None: no capture holds it."""
    row = connection.execute(
        select(binary.c.name, binary.c.path, binary.c.kind).where(binary.c.key == key)
    ).one_or_none()
    return None if row is None else SeenBinary(row.name, row.path, row.kind)


def find_path(connection: Connection, key: str) -> str:
    """The binary's path on a machine that ran it; '' if unknown."""
    return connection.scalar(select(binary.c.path).where(binary.c.key == key)) or ""
