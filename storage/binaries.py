"""Binaries: what is known of each one's symbols, for whoever asks why something has no name."""

from collections.abc import Iterable

from sqlalchemy import Connection, case, select, update

from storage.landing.resolved import BinaryReport, Status
from storage.schema import binary

_NAMES = {status: status.name.lower() for status in Status}


def note_symbols(connection: Connection, reports: Iterable[BinaryReport]) -> None:
    """Keep the best status any worker had for each binary, and why it is not full.

    Workers see different files: what one cannot find takes nothing from what another did. A binary
    without a row is left out.
    """
    rank = case({name: int(status) for status, name in _NAMES.items()}, value=binary.c.status, else_=0)
    for report in sorted(reports, key=lambda report: report.key):  # in one order, so that none deadlock
        connection.execute(
            update(binary)
            .where(binary.c.key == report.key, rank <= int(report.status))
            .values(status=_NAMES[report.status], reason=report.reason[:2000])
        )


def find_path(connection: Connection, key: str) -> str:
    """Where a machine that ran the binary has it; '' if none was seen to."""
    return connection.scalar(select(binary.c.path).where(binary.c.key == key)) or ""
