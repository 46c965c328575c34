"""A round's draw in the database: machines of the inventory become visits, written down before any call.

What is drawn is a machine and a moment: `drawn_at` of a visit is the moment it is drawn for, which
fixes the UTC day and hour it is counted under.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy import Connection

from collector import pressure
from collector.draw import draw
from collector.schedule import round_at, round_start, scatter
from storage import campaigns, coverage, inventory, thinning, visits
from storage.campaigns import Campaign
from storage.inventory import Machine
from storage.visits import BY_HAND, DrawnVisit


@dataclass(frozen=True, slots=True)
class Appointment:
    """A visit that is to be made: who, by which plan, and when (`visit.drawn_at`)."""

    visit: DrawnVisit
    machine: Machine
    campaign: Campaign

    @property
    def visit_id(self) -> UUID:
        """The visit's."""
        return self.visit.visit_id


def draw_round(
    connection: Connection, campaign: Campaign, now: datetime, random: np.random.Generator
) -> list[Appointment] | None:
    """Draw the round that `now` lies in; None: it was drawn already, or the campaign does not run.

    The round is claimed in the caller's transaction, so two collectors never draw it twice. Visits lie
    in what is left of the round. The machines are those enabled that the campaign selects; the coverage
    learns how many there are in every stratum, drawn or not. While captures wait too long to be landed
    fewer are drawn than the campaign says (`collector.pressure`).
    """
    definition = campaign.definition
    number = round_at(now, definition.period_s)
    if not campaigns.begin_round(connection, campaign.campaign_id, number):
        return None
    chosen = {
        m.machine_id: m for m in inventory.machines(connection) if _selected(m, definition.select_machines)
    }
    start, end = (
        max(now, round_start(number, definition.period_s)),
        round_start(number + 1, definition.period_s),
    )
    hours = coverage.hours_between(start, end)
    halved = 0
    if definition.visits_per_round > 0:
        halved = pressure.decided(connection, campaign.campaign_id, definition.name, hours[0])
    strata = _by_stratum(connection, list(chosen.values()), thinning=halved)
    choices = draw(strata, definition.visits_per_round * thinning.share(halved), random)
    moments = scatter(len(choices), start, end, random)
    appointments = [
        Appointment(
            DrawnVisit(
                visit_id=uuid4(),
                campaign_id=campaign.campaign_id,
                round=number,
                machine_id=choice.machine_id,
                stratum_id=choice.stratum_id,
                population=choice.population,
                drawn=choice.drawn,
                probability=choice.probability,
                drawn_at=moment,
            ),
            chosen[choice.machine_id],
            campaign,
        )
        for choice, moment in zip(choices, moments, strict=True)
    ]
    if definition.visits_per_round > 0:
        populations = {stratum_id: len(machines) for stratum_id, machines in strata.items()}
        coverage.note_populations(connection, campaign.campaign_id, populations, hours)
    visits.record_draw(connection, [appointment.visit for appointment in appointments])
    return appointments


def by_hand(connection: Connection, campaign: Campaign, machine: Machine, now: datetime) -> Appointment:
    """A visit that someone asked for: of no round, with probability 0, so it is weighed for nothing."""
    strata = _by_stratum(connection, [machine])
    drawn = DrawnVisit(
        visit_id=uuid4(),
        campaign_id=campaign.campaign_id,
        round=BY_HAND,
        machine_id=machine.machine_id,
        stratum_id=next(iter(strata)),
        population=0,
        drawn=0,
        probability=0.0,
        drawn_at=now,
    )
    visits.record_draw(connection, [drawn])
    return Appointment(drawn, machine, campaign)


def _selected(machine: Machine, wanted: Mapping[str, str]) -> bool:
    """Whether it has all the labels; what the inventory knows by itself counts as labels (DIGEST G20)."""
    labels = {
        **machine.labels,
        "machine": machine.name,
        "datacenter": machine.datacenter,
        "cluster": machine.cluster,
        "platform": machine.platform,
        "kernel": machine.kernel,
    }
    return all(labels.get(name) == value for name, value in wanted.items())


def _by_stratum(
    connection: Connection, machines: Sequence[Machine], *, thinning: int = 0
) -> dict[int, list[int]]:
    keys = [(m.datacenter, m.platform) for m in machines]
    ids = inventory.stratum_ids(connection, keys, thinning=thinning)
    strata: dict[int, list[int]] = defaultdict(list)
    for machine in machines:
        strata[ids[machine.datacenter, machine.platform]].append(machine.machine_id)
    return dict(strata)
