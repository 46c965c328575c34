"""Prices per core-hour by platform; its answers are those of /api/v1/prices."""

import math
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Engine

from services.access.errors import UnusableEntry
from storage.access import prices
from storage.database import snapshot
from storage.query.selections.times import format_time

Json = dict[str, Any]
MOST_PLATFORMS: Final = 1000
_LONGEST_NAME: Final = 200


class PriceService:
    """The prices of one database. Safe to share between threads."""

    def __init__(self, engine: Engine, default: float | None) -> None:
        """The caller keeps ownership of the engine. `default`: price per core-hour of the setting; None: unknown."""
        self._engine = engine
        self._default = default

    def listing(self) -> Json:
        """The default price and those of platforms: `Prices`."""
        with snapshot(self._engine) as connection:
            found = prices.listing(connection)
        return {
            "default": self._default,
            "platforms": [
                {
                    "platform": price.platform,
                    "price_per_core_hour": price.price_per_core_hour,
                    "changed_at": format_time(price.changed_at),
                    "changed_by": price.changed_by,
                }
                for price in found
            ],
        }

    def replace(self, platforms: Mapping[str, float], *, changed_by: str = "") -> Json:
        """Set the prices of these platforms, and the default price for all others: `Prices`.

        Raises UnusableEntry, `DatabaseError`.
        """
        if len(platforms) > MOST_PLATFORMS:
            raise UnusableEntry(
                f"There are {len(platforms):,} platforms, more than {MOST_PLATFORMS:,}.",
                parameter="platforms",
            )
        for platform, price in platforms.items():
            if not platform or len(platform) > _LONGEST_NAME or not platform.isprintable():
                raise UnusableEntry(
                    f"{platform[:60]!r} is not a platform.",
                    parameter="platforms",
                    hint="`fleetprof machines list` shows the platforms of the fleet.",
                )
            if not (math.isfinite(price) and price >= 0):
                raise UnusableEntry(
                    f"The price {price} of {platform!r} is not a number of 0 or more.", parameter="platforms"
                )
        with self._engine.begin() as connection:
            prices.replace(connection, platforms, changed_by=changed_by)
        return self.listing()
