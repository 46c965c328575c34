"""A round's draw in the database: machines of the inventory become visits, written down before any call.

What is drawn is a machine and a moment: `drawn_at` of a visit is the moment it is drawn for, which
fixes the UTC day and hour it is counted under.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy import Connection

from collector import pressure
from collector.draw import Choice, draw
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
    connection: Connection,
    campaign: Campaign,
    now: datetime,
    random: np.random.Generator,
    collector_id: UUID | None = None,
) -> list[Appointment] | None:
    """Draw the round that `now` lies in; None: it was drawn already, or the campaign does not run.

    `collector_id` is the run of the collector that will make the visits and holds a lease.
    The round is claimed in the caller's transaction, so two collectors never draw it twice. Visits lie
    in what is left of the round, and after a pause or another period are as dense there as in a whole one:
    within a day each stands for as much time. The machines are those enabled that the campaign selects; the
    coverage learns how many there are in every stratum, drawn or not. While captures wait too long to be landed
    fewer are drawn than the campaign says (`collector.pressure`), in each hour as many as was decided for it.
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
    halved = dict.fromkeys(hours, 0)
    visits_per_round = min(definition.visits_per_round, float(len(chosen)))
    if visits_per_round > 0:
        kinds = len({(m.datacenter, m.platform) for m in chosen.values()})
        most = pressure.bound(visits_per_round * 3600 / definition.period_s, kinds)
        halved = pressure.decided(connection, campaign.campaign_id, definition.name, hours, most)
        follows = coverage.note_time(connection, campaign.campaign_id, start, end)
        late = start - round_start(number, definition.period_s)
        if late > (coverage.NO_PAUSE if follows else timedelta()):
            visits_per_round *= (end - start).total_seconds() / definition.period_s
    least = min(halved.values())
    strata = {
        times: _by_stratum(connection, list(chosen.values()), thinning=times)
        for times in sorted(set(halved.values()))
    }
    choices = draw(strata[least], visits_per_round * thinning.share(least), random)
    moments = scatter(len(choices), start, end, random)
    kept = _of_their_hours(list(zip(choices, moments, strict=True)), strata, halved, random)
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
        for choice, moment in kept
    ]
    if definition.visits_per_round > 0:
        _note_populations(connection, campaign, strata, halved)
    visits.record_draw(connection, [appointment.visit for appointment in appointments], collector_id)
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


def _of_their_hours(
    drawn: Sequence[tuple[Choice, datetime]],
    strata: Mapping[int, Mapping[int, Sequence[int]]],
    halved: Mapping[int, int],
    random: np.random.Generator,
) -> list[tuple[Choice, datetime]]:
    """Of a draw as dense as the densest hour of a round, what the other hours shall have.

    `strata` has by thinning the machines of each stratum, and `halved` by hour the thinning. Which hour a visit
    lies in is chance and does not depend on its machine, so leaving visits of an hour out at random, too,
    draws that hour's machines with the same probability all: the one of the choices returned.
    """
    least = min(halved.values())
    if all(times == least for times in halved.values()):
        return list(drawn)
    stratum_of = {
        times: {machine: stratum_id for stratum_id, machines in by_stratum.items() for machine in machines}
        for times, by_stratum in strata.items()
    }
    kept = []
    for choice, moment in drawn:
        hour = min(
            int(moment.timestamp() // 3600), max(halved)
        )  # the last moment may be rounded to the next hour
        share = thinning.share(halved[hour] - least)
        if random.random() < share:
            stratum_id = stratum_of[halved[hour]][choice.machine_id]
            kept.append(
                (replace(choice, stratum_id=stratum_id, probability=choice.probability * share), moment)
            )
    number = Counter(choice.stratum_id for choice, _ in kept)
    return [(replace(choice, drawn=number[choice.stratum_id]), moment) for choice, moment in kept]


def _note_populations(
    connection: Connection,
    campaign: Campaign,
    strata: Mapping[int, Mapping[int, Sequence[int]]],
    halved: Mapping[int, int],
) -> None:
    """Note how many machines are in the strata of each hour, whose thinnings are `halved`."""
    in_order = sorted(
        (stratum_id, times) for times, by_stratum in strata.items() for stratum_id in by_stratum
    )
    # In one order over all strata, which is the one that others lock their coverage in.
    for times, members in groupby(in_order, key=lambda pair: pair[1]):
        coverage.note_populations(
            connection,
            campaign.campaign_id,
            {stratum_id: len(strata[times][stratum_id]) for stratum_id, _ in members},
            [hour for hour, of_hour in halved.items() if of_hour == times],
        )


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
