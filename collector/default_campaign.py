"""The campaigns that are always there, with what they sample until an operator decides otherwise."""

from sqlalchemy import Connection

from storage import campaigns
from storage.campaigns import FLEET, Campaign, Definition, EventPlan, State
from storage.errors import UnknownCampaign

BY_HAND = "by-hand"
"""Campaign of visits that someone asks for; it never draws, so the fleet's figures do not see it."""

DEFAULT_CAMPAIGN = Definition(
    name=FLEET,
    period_s=60.0,
    visits_per_round=3.0,
    events=(EventPlan(event="cpu", rate_hz=99.0, duration_ms=5000),),
)
"""4 320 visits a day: some four a machine and day in a fleet of 1 000, where 22 s of 86 400 are sampled.

So many tell a function of 1 % to ± 8 % of itself a day; two a round would just reach 10 %. 99 Hz beats with no
timer of 100 or 1000 Hz. What that costs, and why not longer or denser visits: docs/overhead.md.
"""


def ensure_default_campaign(connection: Connection) -> Campaign:
    """The standing campaign, made with its defaults if it is missing; an operator's choices stay."""
    try:
        return campaigns.get(connection, FLEET)
    except UnknownCampaign:
        return campaigns.create_or_update(connection, DEFAULT_CAMPAIGN)


def ensure_by_hand(connection: Connection) -> Campaign:
    """The campaign of visits by hand, paused for good."""
    try:
        return campaigns.get(connection, BY_HAND)
    except UnknownCampaign:
        definition = Definition(
            name=BY_HAND,
            period_s=DEFAULT_CAMPAIGN.period_s,
            visits_per_round=0.0,
            events=DEFAULT_CAMPAIGN.events,
        )
        campaigns.create_or_update(connection, definition)
        campaigns.set_state(connection, BY_HAND, State.PAUSED, "It holds visits asked for by hand.")
        return campaigns.get(connection, BY_HAND)
