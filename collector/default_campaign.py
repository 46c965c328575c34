"""The campaigns that always exist, with their defaults until an operator changes them."""

from sqlalchemy import Connection

from storage import campaigns
from storage.campaigns import BY_HAND, FLEET, Campaign, Definition, EventPlan, State
from storage.errors import UnknownCampaign

DEFAULT_CAMPAIGN = Definition(
    name=FLEET,
    period_s=60.0,
    visits_per_round=3.0,
    events=(EventPlan(event="cpu", rate_hz=99.0, duration_ms=5000),),
)
"""4 320 visits a day: about four per machine and day in a fleet of 1 000, which samples 22 s of 86 400.

That estimates a function of 1 % within ± 8 % of its value a day; two visits a round would just reach 10 %. 99 Hz
does not run in lockstep with timers of 100 or 1000 Hz. For the costs, and reasons against longer or more visits, see
docs/overhead.md.
"""


def ensure_default_campaign(connection: Connection) -> Campaign:
    """The default campaign, created if it is missing; an operator's changes stay."""
    try:
        return campaigns.get(connection, FLEET)
    except UnknownCampaign:
        return campaigns.create_or_update(connection, DEFAULT_CAMPAIGN)


def ensure_by_hand(connection: Connection) -> Campaign:
    """The campaign of visits on request, which is always paused."""
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
        campaigns.set_state(connection, BY_HAND, State.PAUSED, "It holds visits requested by hand.")
        return campaigns.get(connection, BY_HAND)
