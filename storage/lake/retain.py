"""Retention of the lake: whole days, the oldest first, each forgotten before its files go."""

from datetime import date

from storage.lake import manifest
from storage.lake.place import Lake, folder_of
from storage.lake.tables import TABLES


def retain(lake: Lake, before: date) -> list[date]:
    """Delete all days before this one; those that were there, ascending. Raises `LakeUnavailable`; done again, it goes on."""
    old = [day for day in manifest.days(lake) if day < before]
    for day in old:
        lake.delete(manifest.key_of(day))
        for table in TABLES:
            for key in lake.keys(folder_of(table, day)):
                lake.delete(key)
    return old
