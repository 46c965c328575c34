"""A campaign's visits as ingestion and rolling leave them: ingested, reprocessed, merged or waiting."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, Engine, delete, insert, literal, select

from storage.rollup.apply_queue import RollupWriter
from storage.schema import chunk, profile, rollup_queue, rollup_retraction
from tests.fact_writer import FactWriter, Visit
from tests.sampled_campaign import Campaign

PERIODS = (10_101_010, 20_202_020)
BEFORE, AFTER = timedelta(minutes=7), timedelta(minutes=11)
"""Rounds begin so long before a visit and end so long after it; in between nobody draws."""


@dataclass(frozen=True)
class Seen:
    """A visit and what it brings, as (application, stack, samples)."""

    minute: int
    stratum: str
    utilisation: float | None
    seconds: float
    facts: tuple[tuple[str, int, int], ...]


class RolledStore:
    """What a campaign's visits brought, ingested and reprocessed."""

    def __init__(
        self,
        engine: Engine,
        campaign: str,
        *,
        sizes: Mapping[str, int],
        functions: Callable[[FactWriter], Sequence[int]],
        stacks: Sequence[Sequence[int]],
        midnight: datetime,
    ) -> None:
        """`functions` writes them; `stacks` are made of their places. Minutes are those since `midnight`."""
        self._engine = engine
        self._sizes = sizes
        self._midnight = midnight
        self.campaign = campaign
        self.ingested: list[Visit] = []
        self._writer = RollupWriter(engine)
        with engine.begin() as connection:
            fleet = Campaign(connection, sizes, campaign)
            self.functions = functions(fleet.write)
            self._stacks = [fleet.write.stack([self.functions[f] for f in stack]) for stack in stacks]

    def ingest(self, visits: Sequence[Seen]) -> None:
        with self._engine.begin() as connection:
            fleet = Campaign(connection, self._sizes, self.campaign)
            for number, seen in enumerate(visits):
                drawn_at = self._midnight + timedelta(minutes=seen.minute)
                fleet.cover(drawn_at - BEFORE, drawn_at + AFTER)
                visit = fleet.answer(
                    drawn_at,
                    seen.stratum,
                    utilisation=seen.utilisation,
                    seconds=seen.seconds,
                    machine=f"{seen.stratum}{number}",
                )
                self._write(fleet, visit, seen.facts)
                self.ingested.append(visit)

    def ingest_again(self, place: int, contributions: Sequence[tuple[str, int, int]]) -> None:
        """As `storage.ingest.ingest` takes out an older generation."""
        if not self.ingested:
            return
        visit = self.ingested[place % len(self.ingested)]
        with self._engine.begin() as connection:
            waiting = connection.execute(
                delete(rollup_queue).where(rollup_queue.c.visit_id == visit.id, rollup_queue.c.sign == 1)
            ).rowcount
            if not waiting:
                _replace(connection, visit)
            ids = select(profile.c.profile_id).where(profile.c.visit_id == visit.id)
            connection.execute(delete(chunk).where(chunk.c.profile_id.in_(ids)))
            connection.execute(delete(profile).where(profile.c.visit_id == visit.id))
            self._write(Campaign(connection, self._sizes, self.campaign), visit, contributions)
            connection.execute(
                insert(rollup_queue).values(day=visit.drawn_at.date(), visit_id=visit.id, sign=1)
            )

    def rollup(self, entries: int) -> None:
        self._writer.rollup(batch=entries)

    def roll_all(self) -> None:
        while self._writer.rollup().entries:
            pass

    def _write(self, fleet: Campaign, visit: Visit, contributions: Sequence[tuple[str, int, int]]) -> None:
        for number, (application, stack, samples) in enumerate(contributions):
            fleet.write.profile(
                visit,
                {self._stacks[stack]: samples},
                labels={"application": application},
                period=PERIODS[number % 2],
            )


def _replace(connection: Connection, visit: Visit) -> None:
    entry = connection.scalar(
        insert(rollup_queue)
        .values(day=visit.drawn_at.date(), visit_id=visit.id, sign=-1)
        .returning(rollup_queue.c.entry_id)
    )
    kept = [c.name for c in rollup_retraction.c if c.name not in {"entry_id", "data"}]
    old = (
        select(literal(entry), *(profile.c[name] for name in kept), chunk.c.data)
        .join(chunk, (chunk.c.day == profile.c.day) & (chunk.c.profile_id == profile.c.profile_id))
        .where(profile.c.visit_id == visit.id)
    )
    connection.execute(insert(rollup_retraction).from_select(["entry_id", *kept, "data"], old))
