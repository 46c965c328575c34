"""The answer about the money that a selection costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer, Share
from storage.query.answers.figures import Interval
from storage.query.answers.selection_echo import SelectionEcho
from storage.query.answers.totals import Totals


@dataclass(frozen=True, slots=True)
class PlatformCost(Answer):
    """A platform's part of the cost."""

    platform: Annotated[str, Field(description="CPU model. Empty: unknown.")]
    share: Annotated[Share, Field(description="Part of the selection's CPU time, 0…1.")]
    cores: Annotated[Interval | None, Field(description="Mean number of busy cores.")]
    price_per_core_hour: Annotated[float | None, Field(description="Null: this platform has no price.")]
    money: Annotated[
        Interval | None, Field(description="Core-hours at this price. Null without a price or an estimate.")
    ]


@dataclass(frozen=True, slots=True)
class CostAnswer(Answer):
    """The money that a selection costs, by platform."""

    selection: SelectionEcho
    totals: Totals
    price_per_core_hour: Annotated[
        float | None,
        Field(
            description="Mean price of the selection's core-hours: the prices of its platforms, weighted by their CPU "
            "time; a platform without a price counts as 0. Core-hours of any row at this price are money. Null: none "
            "of the platforms has a price."
        ),
    ]
    money: Annotated[
        Interval | None,
        Field(
            description="The selection's core-hours at the mean price. Null without a price or an estimate."
        ),
    ]
    money_a_year: Annotated[Interval | None, Field(description="The cost per year at the same rate.")]
    unpriced_share: Annotated[
        Share, Field(description="Part of the CPU time on platforms without a price, which `money` lacks.")
    ]
    rows: Annotated[tuple[PlatformCost, ...], Field(description="The platforms, most CPU time first.")]

    def price_of(self, key: Mapping[str, str]) -> float | None:
        """The price of a row's core-hours: of its platform if it is of one, else the mean."""
        if (platform := key.get("platform")) is None:
            return self.price_per_core_hour
        return next((row.price_per_core_hour for row in self.rows if row.platform == platform), None)
