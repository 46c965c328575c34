"""The answers of operators' changes."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from storage.query.answers.answer import Answer
from storage.query.answers.campaigns import CampaignAnswer


@dataclass(frozen=True, slots=True)
class ChangedCampaign(Answer):
    """A campaign after a change."""

    created: Annotated[bool, Field(description="Whether the change created it.")]
    changed: Annotated[bool, Field(description="False: it was as requested already.")]
    note: Annotated[
        str, Field(description="What to know about the change, e.g. when it applies; may be empty.")
    ]
    campaign: CampaignAnswer


@dataclass(frozen=True, slots=True)
class RequestedVisit(Answer):
    """A visit that a collector makes next."""

    visit_id: str
    machine: str
    campaign: Annotated[str, Field(description="The campaign of visits by hand, by-hand.")]
    planned_at: str
    event: str
    duration_s: float
    progress: Annotated[
        str, Field(description="Path of the visit's state.", examples=["/api/v1/visits?visit_id=…"])
    ]
