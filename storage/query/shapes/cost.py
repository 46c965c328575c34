"""Money: core-hours by platform at the prices of the platforms. The only place where answers get prices from.

A selection has one mean price, weighted by the CPU time of its platforms, so that all of its rows, graphs and series
convert core-hours in the same way and add up. Rows that use another mix of platforms than the whole selection are exact
only in a selection of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from storage.access import prices
from storage.query.answers.cost import CostAnswer, PlatformCost
from storage.query.answers.figures import in_units
from storage.query.answers.table import TableRow
from storage.query.reading import Reading
from storage.query.selections.selection import Selection
from storage.query.shapes.row_order import Page
from storage.query.shapes.table import MOST_ROWS, TableQuestion

HOUR_S = 3600
YEAR_H = 8766


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices per core-hour by platform."""

    default: float | None
    """Of all other platforms; None: unknown."""
    platforms: Mapping[str, float] = field(default_factory=dict)

    def of(self, platform: str) -> float | None:
        """The price of a platform."""
        return self.platforms.get(platform, self.default)


def read_prices(reading: Reading, default: float | None) -> Prices:
    """The prices of the snapshot. Segments of the lake have none: the default applies to all platforms."""
    if reading.cells is None:
        return Prices(default)
    found = prices.listing(reading.cells.connection)
    return Prices(default, {price.platform: price.price_per_core_hour for price in found})


def mean_price(reading: Reading, selection: Selection, default: float | None) -> float | None:
    """The mean price of the selection's core-hours; it reads samples only if platforms differ.

    Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`.
    """
    if not read_prices(reading, default).platforms:
        return default
    return CostQuestion(selection, default).answer(reading).price_per_core_hour


@dataclass(frozen=True, slots=True)
class CostQuestion:
    """The money that the selection costs."""

    selection: Selection
    default: float | None = None
    """Price per core-hour of platforms without one of their own; None: unknown."""

    def answer(self, reading: Reading) -> CostAnswer:
        """The cost. Raises `BadSelection`, `UnknownCampaign`, `DatabaseError`."""
        known = read_prices(reading, self.default)
        table = TableQuestion(self.selection, ("platform",), Page(limit=MOST_ROWS)).answer(reading)
        priced = [(row, known.of(row.key["platform"])) for row in table.rows]
        whole = sum(row.self_share for row in table.rows)
        mean = None
        if known.default is not None or any(price is not None for _, price in priced):
            mean = (
                sum(row.self_share * (price or 0.0) for row, price in priced) / whole
                if whole > 0
                else known.default
            )
        totals = table.totals
        estimated_s = totals.estimated_seconds
        return CostAnswer(
            selection=table.selection,
            totals=totals,
            price_per_core_hour=mean,
            money=in_units(totals.core_seconds, mean and mean / HOUR_S),
            money_a_year=in_units(totals.core_seconds, mean and estimated_s and mean * YEAR_H / estimated_s),
            unpriced_share=min(
                sum(row.self_share for row, price in priced if price is None) / whole if whole > 0 else 0.0,
                1.0,
            ),
            rows=tuple(_platform(row, price, whole, estimated_s) for row, price in priced),
        )


def _platform(row: TableRow, price: float | None, whole: float, estimated_s: float) -> PlatformCost:
    return PlatformCost(
        platform=row.key["platform"],
        share=row.self_share / whole if whole > 0 else 0.0,
        cores=in_units(row.self_core_seconds, estimated_s and 1 / estimated_s),
        price_per_core_hour=price,
        money=in_units(row.self_core_seconds, price and price / HOUR_S),
    )
