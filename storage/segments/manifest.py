"""Manifests: a small file per day that lists the day's current files and is written after them.

Readers use only files in manifests, so files of an interrupted export are invisible, and replacing the manifest
replaces the day atomically. The next export deletes unreferenced files in the tables' folders.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date, datetime
from typing import Any

from storage.segments.errors import LakeDamaged
from storage.segments.location import Lake, folder_of
from storage.segments.tables import TABLES

FORMAT = 3
_BEFORE_COVERED = 2
"""Manifests of this format have no covered time: the hours of their days count in full."""
_DAY_US = 86_400_000_000
_MOST_CAMPAIGNS = 2**15 - 1
_KEY = re.compile(r"manifests/day=(\d{4}-\d\d-\d\d)\.json")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FILE = re.compile(r"[0-9]{8}T[0-9]{12}Z-[0-9a-f]{8}-[0-9]{5}\.parquet")


@dataclass(frozen=True, slots=True)
class File:
    """A file of a table; `name` is relative to the folder of its table and day."""

    name: str
    rows: int
    bytes: int
    sha256: str
    """Hex digest of its bytes."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """PostgreSQL's counts for a day; if they change, the day is exported again."""

    captures: int
    """Captures that were ingested at least once."""
    generations: int
    """Sum over the captures; each reprocessing adds one."""
    visits: int
    """Visits drawn."""
    ended: int


@dataclass(frozen=True, slots=True, order=True)
class TypeTotals:
    """Totals of one event of one campaign on a day."""

    campaign: str
    event: str
    unit: str
    stacks: bool
    profiles: int
    facts: int
    samples: int
    units: int


Covered = tuple[int, int]
"""Begin and end of a run of rounds, µs since 1970 UTC."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """An exported day."""

    day: date
    database: str
    """The database that its ids belong to (`storage.identity`); another database's ids have other meanings."""
    stamp: str
    """Prefix of its file names; it increases with each export."""
    ingested: Ingested
    totals: tuple[TypeTotals, ...]
    """Ascending."""
    tables: Mapping[str, tuple[File, ...]]
    begun: Mapping[int, int]
    """By campaign id, the hour of its first draw ever, as of the export."""
    covered: Mapping[int, tuple[Covered, ...]] | None
    """By campaign id, the day's runs of rounds; None: the day was exported before runs were recorded."""

    @property
    def facts(self) -> int:
        """Number of rows of `samples`."""
        return sum(file.rows for file in self.tables["samples"])

    @property
    def bytes(self) -> int:
        """Total size of its files."""
        return sum(file.bytes for files in self.tables.values() for file in files)

    def keys(self, table: str) -> list[str]:
        """Keys of a table's files."""
        return [f"{folder_of(table, self.day)}/{file.name}" for file in self.tables[table]]


def key_of(day: date) -> str:
    """The key of a day's manifest."""
    return f"manifests/day={day.isoformat()}.json"


def read(lake: Lake, day: date) -> Manifest | None:
    """A day's manifest; None: the lake does not have the day. Raises `LakeError`."""
    text = lake.text(key_of(day))
    return None if text is None else parse(text, day)


def days(lake: Lake) -> list[date]:
    """The days in the lake, ascending. Raises `LakeUnavailable`."""
    found = (_KEY.fullmatch(key) for key in lake.keys("manifests"))
    return sorted(date.fromisoformat(match[1]) for match in found if match)


def write(lake: Lake, manifest: Manifest) -> None:
    """Publish the manifest: its files become the day's. Raises `LakeUnavailable`."""
    lake.put(key_of(manifest.day), render(manifest).encode())


def render(manifest: Manifest) -> str:
    """The manifest as JSON."""
    document = {
        "format": FORMAT,
        "day": manifest.day.isoformat(),
        "database": manifest.database,
        "stamp": manifest.stamp,
        "ingested": asdict(manifest.ingested),
        "totals": [asdict(total) for total in manifest.totals],
        "tables": {name: [asdict(file) for file in files] for name, files in manifest.tables.items()},
        "begun": {str(campaign): hour for campaign, hour in manifest.begun.items()},
        "covered": {str(campaign): runs for campaign, runs in (manifest.covered or {}).items()},
    }
    return json.dumps(document, indent=1) + "\n"


def parse(text: str, day: date) -> Manifest:
    """Parse a manifest. Raises `LakeDamaged` for anything that an export cannot have written."""
    try:
        document = json.loads(text)
        _check_format(document["format"], day)
        manifest = Manifest(
            day=date.fromisoformat(document["day"]),
            database=str(document["database"]),
            stamp=str(document["stamp"]),
            ingested=Ingested(**document["ingested"]),
            totals=tuple(TypeTotals(**total) for total in document["totals"]),
            tables={name: tuple(map(_file, document["tables"][name])) for name in TABLES},
            begun={int(campaign): int(hour) for campaign, hour in document["begun"].items()},
            covered=_covered(document, date.fromisoformat(document["day"])),
        )
    except LakeDamaged:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise LakeDamaged(f"Cannot read the lake's manifest of {day}: {error!r}.") from error
    if manifest.day != day:
        raise LakeDamaged(f"The lake's manifest of {day} is for {manifest.day}.")
    return manifest


def _check_format(found: object, day: date) -> None:
    if found not in {_BEFORE_COVERED, FORMAT}:
        raise LakeDamaged(f"The lake's manifest of {day} has format {found!r}, not {FORMAT}.")


def _covered(document: Mapping[str, Any], day: date) -> Mapping[int, tuple[Covered, ...]] | None:
    if document["format"] == _BEFORE_COVERED:
        return None
    found = {
        int(campaign): tuple((int(begin), int(end)) for begin, end in runs)
        for campaign, runs in document["covered"].items()
    }
    midnight = (day - date(1970, 1, 1)).days * _DAY_US
    if not all(0 < campaign <= _MOST_CAMPAIGNS for campaign in found):
        raise ValueError("an id of a campaign is invalid")
    for begin, end in (run for runs in found.values() for run in runs):
        if not midnight <= begin < end <= midnight + _DAY_US:
            raise ValueError("a run of rounds is outside the day")
    return found


def _file(entry: Any) -> File:
    file = File(**entry)
    # Names go into SQL and paths, so a forged manifest must not be able to read other files.
    if not isinstance(file.name, str) or not _FILE.fullmatch(file.name):
        raise ValueError(f"{file.name!r} is not a file name")
    if not isinstance(file.rows, int) or not isinstance(file.bytes, int):
        raise TypeError("rows and bytes must be numbers")
    if not isinstance(file.sha256, str) or not _SHA256.fullmatch(file.sha256):
        raise ValueError(f"{file.sha256!r} is not a SHA-256")
    return file


def stamp_of(now: datetime, token: str) -> str:
    """The stamp of an export that begins at `now` (UTC); `token` is 8 random hex digits."""
    return f"{now:%Y%m%dT%H%M%S%f}Z-{token}"
