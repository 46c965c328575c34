"""Visits of a random design without a fleet: drawn, ended and ingested by the store's own functions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from random import Random
from uuid import UUID, uuid4

from sqlalchemy import Connection, insert, select

from storage import campaigns, coverage, inventory, partitions, visits
from storage.campaigns import Definition, EventPlan
from storage.inventory import NewMachine
from storage.schema import Outcome, capture, capture_segment, rollup_queue, sample_type
from storage.visits import DrawnVisit
from tests.fact_writer import FactWriter, Visit


@dataclass
class Campaign:
    """A campaign over strata of given sizes; writes within the caller's transaction."""

    connection: Connection
    sizes: Mapping[str, int]
    """Machines by datacenter: each is a stratum."""
    name: str = "fleet"
    random: Random = field(default_factory=Random)
    """Gives the visits' ids: with a seed they are the same each time."""
    write: FactWriter = field(init=False)

    def __post_init__(self) -> None:
        self.write = FactWriter(self.connection)
        definition = Definition(self.name, 60, 1, (EventPlan("cpu", 5000, rate_hz=99),))
        self.campaign_id = campaigns.create_or_update(self.connection, definition).campaign_id
        self.strata = inventory.stratum_ids(self.connection, [(name, "") for name in self.sizes])
        self._machines: dict[str, int] = {}

    def cover(self, start: datetime, end: datetime) -> None:
        """Have rounds drawn visits of [start, end); hours of which none is noted count whole."""
        coverage.note_time(self.connection, self.campaign_id, start, end)

    def draw(self, drawn_at: datetime, stratum: str, machine: str = "") -> DrawnVisit:
        """A visit under way; the coverage knows every stratum of the hour."""
        partitions.ensure(self.connection, [drawn_at.date()])
        populations = {self.strata[name, ""]: size for name, size in self.sizes.items()}
        hour = int(drawn_at.timestamp()) // 3600
        coverage.note_populations(self.connection, self.campaign_id, populations, [hour])
        name = machine or f"{stratum}-{uuid4().hex[:8]}"
        if name not in self._machines:
            self._machines[name] = inventory.add(self.connection, NewMachine(name, "h:1"), replace=True)
        drawn = DrawnVisit(
            UUID(int=self.random.getrandbits(128), version=4), self.campaign_id, 0, self._machines[name], self.strata[stratum, ""],
            self.sizes[stratum], 1, 0.5, drawn_at,
        )  # fmt: skip
        visits.record_draw(self.connection, [drawn])
        return drawn

    def fail(self, drawn_at: datetime, stratum: str, *, utilisation: float | None = None) -> None:
        """A visit that brought nothing."""
        visit = self.draw(drawn_at, stratum)
        visits.finish(
            self.connection,
            visit.visit_id,
            outcome=Outcome.TIMEOUT,
            detail="",
            ended_at=drawn_at,
            utilisation=utilisation,
        )

    def wait(
        self,
        drawn_at: datetime,
        stratum: str,
        *,
        utilisation: float | None = None,
        quarantined: str | None = None,
    ) -> None:
        """A visit that answered and whose capture has not ingested: it waits, unless it was quarantined."""
        visit = self.draw(drawn_at, stratum)
        self.connection.execute(
            insert(capture).values(
                visit_id=visit.visit_id, day=visit.day, blob="none", bytes=1, raw_bytes=1, sha256=b"",
                samples=0, quarantined=quarantined,
            )
        )  # fmt: skip
        visits.finish(
            self.connection,
            visit.visit_id,
            outcome=Outcome.ANSWERED,
            detail="",
            ended_at=drawn_at,
            seconds=5.0,
            utilisation=utilisation,
        )

    def answer(
        self,
        drawn_at: datetime,
        stratum: str,
        *,
        utilisation: float | None = None,
        seconds: float = 5.0,
        machine: str = "",
        event: str = "cpu",
        unit: str = "nanoseconds",
        stacks: bool = True,
    ) -> Visit:
        """A visit that answered and has been ingested; its profiles are for the caller to write, if any."""
        visit = self.draw(drawn_at, stratum, machine)
        return self.ingest(
            visit, utilisation=utilisation, seconds=seconds, event=event, unit=unit, stacks=stacks
        )

    def ingest(
        self,
        visit: DrawnVisit,
        *,
        utilisation: float | None = None,
        seconds: float = 5.0,
        event: str = "cpu",
        unit: str = "nanoseconds",
        stacks: bool = True,
    ) -> Visit:
        """Have a drawn visit answer and ingest; its profiles are for the caller to write, if any."""
        self.connection.execute(
            insert(capture).values(
                visit_id=visit.visit_id, day=visit.day, blob="none", bytes=1, raw_bytes=1, sha256=b"",
                samples=0, wanted=1, ingested=1, ingested_at=visit.drawn_at,
            )
        )  # fmt: skip
        visits.finish(
            self.connection,
            visit.visit_id,
            outcome=Outcome.ANSWERED,
            detail="",
            ended_at=visit.drawn_at,
            seconds=seconds,
            utilisation=utilisation,
        )
        self.connection.execute(
            insert(capture_segment).values(
                visit_id=visit.visit_id, segment=0, day=visit.day, event=event,
                sample_type_id=self._sample_type(event, unit), stacks=stacks, source=event, status="ok",
                errno=0, seconds=seconds, period=1, requested_period=1, samples=0,
            )
        )  # fmt: skip
        self.connection.execute(insert(rollup_queue).values(day=visit.day, visit_id=visit.visit_id, sign=1))
        return Visit(visit.visit_id, visit.drawn_at, visit.machine_id, self.campaign_id, visit.stratum_id)

    def _sample_type(self, event: str, unit: str) -> int:
        c = sample_type.c
        found = self.connection.execute(
            select(c.sample_type_id).where(c.event == event, c.unit == unit)
        ).scalar()
        if found is None:
            made = insert(sample_type).values(event=event, unit=unit).returning(c.sample_type_id)
            found = self.connection.execute(made).scalar_one()
        return found
