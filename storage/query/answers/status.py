"""The answer of the fleet's coverage and health."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share


@dataclass(frozen=True, slots=True)
class MachinesStatus(Answer):
    """The inventory."""

    enabled: int
    total: int


@dataclass(frozen=True, slots=True)
class CampaignStatus(Answer):
    """A campaign."""

    name: str
    state: Literal["running", "paused", "stopped"]
    why: Annotated[str, Field(description="The reason for the state, as a sentence; may be empty.")]
    since: str
    period_s: Annotated[float, Field(description="Length of a round.")]
    last_round: Annotated[int, Field(description="Number of the last drawn round. -1 before the first.")]
    drawn_share: Annotated[
        float,
        Field(
            description="Part of the planned visits that is drawn now. It is below 1 while captures wait too long to be "
            "ingested."
        ),
    ]


@dataclass(frozen=True, slots=True)
class VisitFailure(Answer):
    """Visits of the last day with the same outcome, and the same message except for numbers."""

    outcome: str
    detail: Annotated[
        str, Field(description="Message of the latest of these visits, a sentence; may be empty.")
    ]
    visits: int
    visits_last_hour: int
    machines: Annotated[int, Field(description="Number of distinct machines.")]
    example: Annotated[str, Field(description="The machine of the latest visit.")]
    latest: Annotated[str, Field(description="Time for which the latest visit was drawn.")]


@dataclass(frozen=True, slots=True)
class VisitsStatus(Answer):
    """Outcomes of visits."""

    last_hour: Annotated[
        dict[str, int], Field(description="Visits by outcome.", examples=[{"answered": 58, "unreachable": 2}])
    ]
    failures: Annotated[
        tuple[VisitFailure, ...],
        Field(
            description="The reasons of failed visits in the last day, most frequent first; at most 20 reasons."
        ),
    ]


@dataclass(frozen=True, slots=True)
class CapturesStatus(Answer):
    """Captures that wait to be ingested."""

    waiting: Annotated[int, Field(description="Captures to be ingested for the first time.")]
    oldest_waiting_s: Annotated[float | None, Field(description="Null: no capture waits.")]
    to_reprocess: Annotated[int, Field(description="Captures to be reprocessed with better symbols.")]
    quarantined: Annotated[int, Field(description="Captures that failed too often to be tried again.")]


@dataclass(frozen=True, slots=True)
class EventStatus(Answer):
    """A sampled event."""

    event: str
    unit: str


@dataclass(frozen=True, slots=True)
class MissingSymbols(Answer):
    """A binary whose code ran without names."""

    binary: str
    path: str
    reason: Annotated[
        str, Field(description="The reason why it has no symbols, as a sentence; may be empty.")
    ]
    share: Annotated[
        Share,
        Field(description="Share of the last day's samples with a frame without a name in this binary."),
    ]


@dataclass(frozen=True, slots=True)
class SymbolsStatus(Answer):
    """Binaries without symbols."""

    missing: tuple[MissingSymbols, ...]


@dataclass(frozen=True, slots=True)
class GatewayVersion(Answer):
    """Machines with the same gateway."""

    program: Annotated[str, Field(description="Its name and version; empty: not recorded.")]
    machines: Annotated[
        int, Field(description="Machines whose latest profile of the last day was taken by it.")
    ]


@dataclass(frozen=True, slots=True)
class Versions(Answer):
    """What runs."""

    api: Annotated[str, Field(description="Version of the API's program.")]
    schema_: Annotated[
        str, Field(description="Revision of the database's tables; empty: they were made otherwise.")
    ]
    gateways: Annotated[tuple[GatewayVersion, ...], Field(description="Most machines first.")]


@dataclass(frozen=True, slots=True)
class StatusAnswer(Answer):
    """The state of the fleet, and its problems."""

    now: str
    machines: MachinesStatus
    campaigns: tuple[CampaignStatus, ...]
    visits: VisitsStatus
    captures: CapturesStatus
    events: tuple[EventStatus, ...]
    price_per_core_hour: Annotated[
        float | None,
        Field(
            description="FLEETPROF_PRICE_PER_CORE_HOUR: the price of platforms without one of their own. Null: not set."
        ),
    ]
    priced: Annotated[
        bool, Field(description="Some platform has a price, so `/cost` converts core-hours to money.")
    ]
    latest: Annotated[
        str | None,
        Field(description="Time for which the newest ingested visit was drawn. Null before the first."),
    ]
    symbols: SymbolsStatus
    versions: Versions
