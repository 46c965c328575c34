"""The lake of the settings, and what DuckDB may take of this machine."""

from services.errors import SettingsProblem
from services.settings import Settings
from storage.segments.duck import Limits
from storage.segments.place import Lake


def lake_of(settings: Settings) -> Lake | None:
    """Where closed days go; None: nowhere. Raises `LakeUnavailable` for a URL that cannot be one."""
    return None if settings.lake_url is None else Lake(settings.lake_url)


def needed_lake(settings: Settings) -> Lake:
    """As `lake_of`; raises SettingsProblem instead of None."""
    lake = lake_of(settings)
    if lake is None:
        raise SettingsProblem(
            "FLEETPROF_LAKE_URL is not set. Set a folder or an fsspec URL, e.g. FLEETPROF_LAKE_URL=s3://bucket/lake."
        )
    return lake


def limits_of(settings: Settings) -> Limits:
    """What an answer out of the lake, or the check of a day, may take; spilled rows go below the state folder."""
    return Limits(memory_bytes=settings.lake_memory_bytes, spill=settings.state_dir / "lake-spill")
