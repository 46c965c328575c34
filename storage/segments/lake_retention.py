"""Retention of the lake: deletes whole days, the oldest first, each manifest before its files."""

import re
from datetime import date

from storage.segments import manifest
from storage.segments.location import Lake
from storage.segments.tables import TABLES

_KEY = re.compile(r"\w+/day=(\d{4}-\d\d-\d\d)/.*", re.DOTALL)


def retain(lake: Lake, before: date) -> list[date]:
    """Delete all days before this one, including files of interrupted exports; return the exported days, ascending.

    Raises `LakeUnavailable`; a repeated call continues the deletion.
    """
    old = [day for day in manifest.days(lake) if day < before]
    for day in old:
        lake.delete(manifest.key_of(day))
    for table in TABLES:
        for key in lake.keys(table):
            if (match := _KEY.fullmatch(key)) and match[1] < before.isoformat():
                lake.delete(key)
    return old
