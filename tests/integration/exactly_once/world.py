"""The visits whose captures are ingested: drawn, answered and archived before anything goes wrong."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from uuid import UUID

import zstandard
from sqlalchemy import Connection, Engine

from storage import campaigns, captures, inventory, partitions, visits
from storage.archive import Archive, capture_key
from storage.campaigns import Definition, EventPlan
from storage.captures import NewCapture
from storage.inventory import NewMachine
from storage.retention.retain import Keep
from storage.schema import Outcome
from storage.visits import DrawnVisit
from tests.integration.exactly_once.made import SEGMENT_S, pattern

TODAY = date(2026, 11, 21)
OLD = tuple(datetime(2026, 11, day, 9, 15, tzinfo=UTC) for day in (9, 10, 11))
"""Days that retention drops."""
CLOSED = datetime(2026, 11, 16, 23, 30, tzinfo=UTC)
"""A day that was closed for long: whatever ingests in it comes late. The last of its 4 days is the 18th."""
MIDNIGHT = datetime(2026, 11, 20, 23, 59, 58, tzinfo=UTC)
"""Drawn before midnight, ingested after it."""
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
MOMENTS = (*OLD, CLOSED, CLOSED + timedelta(days=1), MIDNIGHT, NOON, NOON + timedelta(hours=1))
KEEP = Keep(facts_days=9, cells_days=400)
"""Leaves the facts from the 12th on, and all cells."""
CAMPAIGNS = ("fleet", "search-only")
STRATA = (("dc1", "cpu-a"), ("dc2", "cpu-b"))
MACHINES = 4


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit whose capture is in the archive."""

    visit_id: UUID
    seed: int
    """Which pattern its capture has."""
    campaign: str
    campaign_id: int
    machine: str
    stratum_id: int
    utilisation_class: int
    drawn_at: datetime

    @property
    def day(self) -> date:
        """Fixed at the draw."""
        return self.drawn_at.date()


@dataclass(frozen=True, slots=True)
class World:
    """All visits there are; the same in every process that was forked from the one that made it."""

    visits: Mapping[UUID, Visit]

    def of_days(self, *days: date) -> list[UUID]:
        """The visits of these days, in order of their draw."""
        return [visit_id for visit_id, visit in self.visits.items() if visit.day in days]


def make_world(engine: Engine, count: int, *, seed: int = 0, archive: Archive | None = None) -> World:
    """`count` answered visits spread over days, campaigns, strata, machines and patterns, and some failed ones.

    Every pattern meets every moment soon: both go round, with lengths of no common factor.
    """
    rng = random.Random(seed)
    with engine.begin() as connection:
        partitions.ensure(connection, {moment.date() for moment in MOMENTS})
        campaign_ids = _campaigns(connection)
        strata = inventory.stratum_ids(connection, STRATA)
        machines = [
            inventory.add(connection, NewMachine(f"m{n}", "h:1", datacenter=STRATA[n % 2][0]), replace=True)
            for n in range(MACHINES)
        ]
        made = {}
        for n in range(count):
            campaign = CAMPAIGNS[0] if rng.random() < 0.8 else CAMPAIGNS[1]
            machine = rng.randrange(MACHINES)
            drawn = DrawnVisit(
                UUID(int=rng.getrandbits(128), version=4),
                campaign_ids[campaign],
                n,
                machines[machine],
                strata[STRATA[machine % 2]],
                2,
                1,
                0.5,
                MOMENTS[(n + n // len(MOMENTS)) % len(MOMENTS)],
            )
            load = rng.choice([None, 0.1, 0.4, 0.9])
            visits.record_draw(connection, [drawn])
            _archive(connection, drawn, n, archive)
            _finish(connection, drawn, Outcome.ANSWERED, load)
            made[drawn.visit_id] = Visit(
                drawn.visit_id,
                n,
                campaign,
                drawn.campaign_id,
                f"m{machine}",
                drawn.stratum_id,
                -1 if load is None else int(load * 4),
                drawn.drawn_at,
            )
    return World(made)


def _campaigns(connection: Connection) -> dict[str, int]:
    plan = (EventPlan("cpu", 5000, rate_hz=99),)
    return {
        name: campaigns.create_or_update(connection, Definition(name, 60, 1, plan)).campaign_id
        for name in CAMPAIGNS
    }


def _archive(connection: Connection, drawn: DrawnVisit, seed: int, archive: Archive | None) -> None:
    message = pattern(seed, better=False).of(drawn.visit_id)
    raw = message.SerializeToString()
    blob = zstandard.compress(raw)
    key = capture_key(drawn.day, drawn.visit_id)
    if archive is not None:
        archive.put(key, blob)
    samples = sum(segment.samples for segment in message.segments)
    captures.record(
        connection,
        NewCapture(drawn.visit_id, drawn.day, key, len(blob), len(raw), sha256(blob).digest(), samples),
    )


def _finish(connection: Connection, drawn: DrawnVisit, outcome: Outcome, load: float | None) -> None:
    visits.finish(
        connection,
        drawn.visit_id,
        outcome=outcome,
        detail="",
        ended_at=drawn.drawn_at + timedelta(seconds=SEGMENT_S),
        seconds=SEGMENT_S,
        utilisation=load,
    )


def deliveries(world: World, rng: random.Random, times: int) -> Sequence[UUID]:
    """Every visit `times` times, shuffled: what a broker may do to its messages."""
    messages = [visit_id for visit_id in world.visits for _ in range(times)]
    rng.shuffle(messages)
    return messages
