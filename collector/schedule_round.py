"""A round's draw in the database: machines of the inventory become visits, recorded before any call.

A draw picks machines and moments: a visit's `drawn_at` is the moment it is drawn for, which
determines the UTC day and hour that it counts for.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy import Connection

from collector import backpressure
from collector.draw import Choice, draw
from collector.schedule import round_at, round_start, scatter
from storage import campaigns, coverage, inventory, thinning, visits
from storage.campaigns import Campaign
from storage.inventory import Machine
from storage.machine_selection import is_selected
from storage.schema import BY_HAND
from storage.visits import DrawnVisit


@dataclass(frozen=True, slots=True)
class ScheduledVisit:
    """A visit to be made: its machine, its campaign with the plan, and its time (`visit.drawn_at`)."""

    visit: DrawnVisit
    machine: Machine
    campaign: Campaign

    @property
    def visit_id(self) -> UUID:
        """The visit's id."""
        return self.visit.visit_id


class _Density(NamedTuple):
    """How many visits an hour is drawn with."""

    pace: float
    """Visits an hour that were planned when a round first reached into it; 0: not known."""
    halved: int
    expected_visits: float
    """Visits of a whole round."""


def draw_round(
    connection: Connection,
    campaign: Campaign,
    now: datetime,
    random: np.random.Generator,
    collector_id: UUID | None = None,
    *,
    as_stored: bool = True,
) -> list[ScheduledVisit] | None:
    """Draw the round that contains `now`; None: it was drawn already, or the campaign does not run.

    `collector_id` is the run of the collector that will make the visits and holds a lease. With `as_stored`
    nothing is drawn if the stored campaign's period has changed; a simulated past has a period of its own.
    The round is claimed in the caller's transaction, so two collectors never draw it twice. Visits lie in the
    rest of the round, and after a pause or a change of period they are as dense there as in a whole one. An hour
    keeps the pace at which a round first reached into it, so all its visits stand for equal time. The draw includes
    the enabled machines that the campaign selects; the coverage records the population of every stratum, drawn or
    not. While captures wait too long to be ingested, fewer visits are drawn than the campaign plans
    (`collector.backpressure`); their number is decided once for each hour.
    """
    definition = campaign.definition
    number = round_at(now, definition.period_s)
    period_s = definition.period_s if as_stored else None
    if not campaigns.begin_round(connection, campaign.campaign_id, number, period_s):
        return None
    chosen = {
        m.machine_id: m for m in inventory.machines(connection) if is_selected(m, definition.select_machines)
    }
    start, end = (
        max(now, round_start(number, definition.period_s)),
        round_start(number + 1, definition.period_s),
    )
    hours = coverage.hours_between(start, end)
    dense = {hour: _Density(0.0, 0, 0.0) for hour in hours}
    visits_per_round = min(definition.visits_per_round, float(len(chosen)))
    late_share = 1.0
    if visits_per_round > 0:
        dense = _densities(connection, campaign, hours, chosen.values())
        follows = coverage.note_time(connection, campaign.campaign_id, start, end)
        late = start - round_start(number, definition.period_s)
        if late > (coverage.NO_PAUSE if follows else timedelta()):
            late_share = (end - start).total_seconds() / definition.period_s
    strata = {
        density: _by_stratum(
            connection, list(chosen.values()), thinning=density.halved, visits_per_hour=density.pace
        )
        for density in sorted(set(dense.values()))
    }
    densest = max(dense.values(), key=lambda density: density.expected_visits)
    choices = draw(strata[densest], densest.expected_visits * late_share, random)
    moments = scatter(len(choices), start, end, random)
    kept = _thin_to_hours(list(zip(choices, moments, strict=True)), strata, dense, random)
    scheduled_visits = [
        ScheduledVisit(
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
        for choice, moment in kept
    ]
    if definition.visits_per_round > 0:
        _note_populations(connection, campaign, strata, dense)
    visits.record_draw(connection, [scheduled.visit for scheduled in scheduled_visits], collector_id)
    return scheduled_visits


def by_hand(connection: Connection, campaign: Campaign, machine: Machine, now: datetime) -> ScheduledVisit:
    """A visit on request: outside all rounds, with probability 0 and so without weight."""
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
    return ScheduledVisit(drawn, machine, campaign)


def _densities(
    connection: Connection, campaign: Campaign, hours: range, machines: Collection[Machine]
) -> dict[int, _Density]:
    """Density of each hour: that of the first round that reached into it, else the one planned now."""
    definition = campaign.definition
    planned = definition.visits_per_round * 3600 / definition.period_s
    visits_per_hour = min(definition.visits_per_round, float(len(machines))) * 3600 / definition.period_s
    most = backpressure.max_halvings(visits_per_hour, len({(m.datacenter, m.platform) for m in machines}))
    known = thinning.paces(connection, campaign.campaign_id, hours)
    halved = backpressure.halvings_by_hour(connection, campaign.campaign_id, definition.name, hours, most)
    found = {}
    for hour in hours:
        pace = known.get(hour, planned)
        expected_visits = (
            definition.visits_per_round if pace in {planned, 0.0} else pace * definition.period_s / 3600
        )
        share = thinning.share(halved[hour])
        found[hour] = _Density(pace, halved[hour], min(expected_visits, float(len(machines))) * share)
    return found


def _thin_to_hours(
    drawn: Sequence[tuple[Choice, datetime]],
    strata: Mapping[_Density, Mapping[int, Sequence[int]]],
    dense: Mapping[int, _Density],
    random: np.random.Generator,
) -> list[tuple[Choice, datetime]]:
    """Thin a draw that is as dense as a round's densest hour to the densities of the other hours.

    `strata` maps densities to the machines of each stratum, and `dense` maps hours to densities. A visit's hour
    is random and independent of its machine. So if visits of an hour are also left out at random, all its
    machines are drawn with the same probability: that of the returned choices.
    """
    if len(strata) == 1:
        return list(drawn)
    most = max(density.expected_visits for density in dense.values())
    stratum_of = {
        density: {machine: stratum_id for stratum_id, machines in by_stratum.items() for machine in machines}
        for density, by_stratum in strata.items()
    }
    kept = []
    for choice, moment in drawn:
        # The last moment may be rounded to the next hour.
        density = dense[min(int(moment.timestamp() // 3600), max(dense))]
        share = density.expected_visits / most
        if random.random() < share:
            stratum_id = stratum_of[density][choice.machine_id]
            kept.append(
                (replace(choice, stratum_id=stratum_id, probability=choice.probability * share), moment)
            )
    number = Counter(choice.stratum_id for choice, _ in kept)
    return [(replace(choice, drawn=number[choice.stratum_id]), moment) for choice, moment in kept]


def _note_populations(
    connection: Connection,
    campaign: Campaign,
    strata: Mapping[_Density, Mapping[int, Sequence[int]]],
    dense: Mapping[int, _Density],
) -> None:
    """Record the number of machines in the strata of each hour; `dense` maps hours to densities."""
    in_order = sorted(
        (stratum_id, density) for density, by_stratum in strata.items() for stratum_id in by_stratum
    )
    # One order over all strata, in which all writers lock their coverage.
    for density, members in groupby(in_order, key=lambda pair: pair[1]):
        coverage.note_populations(
            connection,
            campaign.campaign_id,
            {stratum_id: len(strata[density][stratum_id]) for stratum_id, _ in members},
            [hour for hour, of_hour in dense.items() if of_hour == density],
        )


def _by_stratum(
    connection: Connection, machines: Sequence[Machine], *, thinning: int = 0, visits_per_hour: float = 0.0
) -> dict[int, list[int]]:
    keys = [(m.datacenter, m.platform) for m in machines]
    ids = inventory.stratum_ids(connection, keys, thinning=thinning, visits_per_hour=visits_per_hour)
    strata: dict[int, list[int]] = defaultdict(list)
    for machine in machines:
        strata[ids[machine.datacenter, machine.platform]].append(machine.machine_id)
    return dict(strata)
