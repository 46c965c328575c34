"""Times at several frequencies, from a file."""

import csv
from pathlib import Path

from services.api.analysis.frequency_runs import timed_of, wrong_of
from services.commands.reports.csv_fields import is_heading, mistake
from storage.errors import BadSelection
from storage.query.models.frequency_times import Timed

_MOST_BYTES = 1 << 20


def read_runs(path: Path) -> tuple[Timed, ...]:
    """Runs from lines `mhz,seconds` or `mhz,seconds,memory_mhz`. A first line without a number is a heading.

    Raises `BadSelection` with the line and the column of an error, and for a file that cannot be read.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise BadSelection(f"{path} is larger than {_MOST_BYTES >> 20} MiB: split it.", parameter="file")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSelection(f"Cannot read {path}: {error}.", parameter="file") from error
    found: list[Timed] = []
    for number, fields in enumerate(csv.reader(lines), 1):
        if not fields:
            continue
        run = timed_of(fields)
        if run is not None:
            found.append(run)
        elif not is_heading(number, fields):
            raise BadSelection(
                mistake(number, fields, "frequency and time", wrong_of(fields)),
                hint="2400,10.1",
                parameter="file",
            )
    return tuple(found)
