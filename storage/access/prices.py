"""Prices of platforms that differ from the price of the setting."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.postgresql import insert

from storage.schema import core_price


@dataclass(frozen=True, slots=True)
class CorePrice:
    """The price of one platform."""

    platform: str
    """CPU model, as in machine.platform."""
    price_per_core_hour: float
    changed_at: datetime
    changed_by: str


def listing(connection: Connection) -> tuple[CorePrice, ...]:
    """All prices, by platform."""
    rows = connection.execute(select(core_price).order_by(core_price.c.platform))
    return tuple(CorePrice(*row) for row in rows)


def replace(connection: Connection, prices: Mapping[str, float], *, changed_by: str) -> None:
    """Set the prices of these platforms and remove all others. Unchanged prices keep their time and author."""
    c = core_price.c
    connection.execute(delete(core_price).where(c.platform.not_in(prices)))
    for platform, price in sorted(prices.items()):
        added = insert(core_price).values(platform=platform, price_per_core_hour=price, changed_by=changed_by)
        connection.execute(
            added.on_conflict_do_update(
                index_elements=[c.platform],
                set_={
                    "price_per_core_hour": added.excluded.price_per_core_hour,
                    "changed_by": added.excluded.changed_by,
                    "changed_at": added.excluded.changed_at,
                },
                where=c.price_per_core_hour != added.excluded.price_per_core_hour,
            )
        )
