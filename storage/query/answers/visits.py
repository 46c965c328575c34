"""The answer of visits: what was planned on which machine, and what became of it."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from storage.query.answers.answer import Answer, Share

Ingestion = Literal["waiting", "ingested", "quarantined", "expired"]
VisitOutcome = Literal["drawn", "answered", "unreachable", "refused", "timeout", "garbage", "failed", "lost"]


@dataclass(frozen=True, slots=True)
class VisitRow(Answer):
    """A visit."""

    visit_id: str
    machine: str
    campaign: str
    requested_by: Annotated[
        str | None,
        Field(
            description="Role and address of the caller who requested it over the API. Null: not requested."
        ),
    ]
    planned_at: Annotated[str, Field(description="Time for which it was drawn.")]
    started_at: Annotated[
        str | None, Field(description="When the gateway was called. Null: not yet, or never.")
    ]
    ended_at: Annotated[str | None, Field(description="Null: it has not ended.")]
    duration_s: Annotated[float | None, Field(description="From its start to its end.")]
    outcome: Annotated[VisitOutcome, Field(description="drawn: it has not ended.")]
    detail: Annotated[str, Field(description="Reason of the outcome, a sentence; may be empty.")]
    sampled_s: Annotated[
        float | None, Field(description="Length of the sampled window. Null unless answered.")
    ]
    utilisation: Annotated[
        Share | None, Field(description="Busy share of the machine in the window. Null: not known.")
    ]
    samples: Annotated[int | None, Field(description="Samples of the capture. Null: there is no capture.")]
    bytes: Annotated[int | None, Field(description="Compressed size of the capture.")]
    ingestion: Annotated[
        Ingestion | None,
        Field(
            description="State of the capture: waiting for a worker; ingested; quarantined, because it failed too often; "
            "expired, because its day was dropped before it was ingested. Null: there is no capture."
        ),
    ]
    ingestion_detail: Annotated[
        str,
        Field(
            description="Why the capture is quarantined, or why the last attempt failed, a sentence; may be empty."
        ),
    ]
    ingested_at: Annotated[str | None, Field(description="Null: not ingested.")]


@dataclass(frozen=True, slots=True)
class VisitsAnswer(Answer):
    """Visits, the newest first."""

    visits: tuple[VisitRow, ...]
    next: Annotated[
        str | None, Field(description="The value of `before` for the next page. Null: this is the last page.")
    ]
