"""The lake according to the settings, and DuckDB's resource limits."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from services.configuration.settings import Settings
from services.errors import SettingsProblem

if TYPE_CHECKING:
    from storage.query.query_engine import OlderDays
    from storage.segments.duck import Limits
    from storage.segments.location import Lake


def lake_of(settings: Settings) -> "Lake | None":
    """The lake of closed days; None without one. Raises `LakeUnavailable` for an invalid URL."""
    from storage.segments.location import Lake  # noqa: PLC0415 - processes without a lake do not load it

    return None if settings.lake_url is None else Lake(settings.lake_url)


def older_days(settings: Settings) -> "Callable[[], OlderDays] | None":
    """Function that opens the lake for times whose facts are not in PostgreSQL; None without a lake.

    DuckDB and Arrow take 60 MB and are imported by the first query of such a time.
    """
    if settings.lake_url is None:
        return None

    def opened() -> "OlderDays":
        from storage.segments.open_days import engine_of  # noqa: PLC0415 - see above
        from storage.segments.tiers import SegmentTier  # noqa: PLC0415 - see above

        return SegmentTier(needed_lake(settings), limits_of(settings), engine_of(settings.segments_engine))

    return opened


def needed_lake(settings: Settings) -> "Lake":
    """As `lake_of`; raises SettingsProblem if there is no lake."""
    lake = lake_of(settings)
    if lake is None:
        raise SettingsProblem(
            "FLEETPROF_LAKE_URL is not set. Set a folder or an fsspec URL, e.g. FLEETPROF_LAKE_URL=s3://bucket/lake."
        )
    return lake


def limits_of(settings: Settings) -> "Limits":
    """Limits of a lake query or the check of a day; spilled rows go below the state folder."""
    from storage.segments.duck import Limits  # noqa: PLC0415 - DuckDB takes 60 MB

    return Limits(memory_bytes=settings.lake_memory_bytes, spill=settings.state_dir / "lake-spill")
