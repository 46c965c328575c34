"""Captures that ingested with binaries in them, made by writing the rows that an ingestion writes."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy import Connection, Engine, func, insert, select, update
from sqlalchemy.dialects.postgresql import insert as upsert

from storage import campaigns, captures, inventory, visits
from storage.archive import capture_key
from storage.campaigns import Definition, EventPlan
from storage.captures import NewCapture
from storage.inventory import NewMachine
from storage.schema import Outcome, binary, capture, capture_binary, capture_segment, sample_type
from storage.visits import DrawnVisit

PERIOD = 10_000_000
"""Nanoseconds of a sample."""
FULL, NAMELESS = (100, 0), (100, 40)
"""(samples, of them unresolved) of a binary in a capture."""


class Fleet:
    """Machines of one stratum that are visited, and whose captures are ingested with these binaries."""

    def __init__(self, engine: Engine, machines: int = 4) -> None:
        self.engine = engine
        with engine.begin() as connection:
            definition = Definition("fleet", 60, 1, (EventPlan("cpu", 5000, rate_hz=99),))
            self.campaign_id = campaigns.create_or_update(connection, definition).campaign_id
            self.machines = [
                inventory.add(connection, NewMachine(f"m{n}", f"h{n}:1"), replace=True)
                for n in range(machines)
            ]
            self.stratum_id = inventory.stratum_ids(connection, [("", "")])["", ""]
            self.sample_type_id = connection.execute(
                insert(sample_type)
                .values(event="cpu", unit="nanoseconds")
                .returning(sample_type.c.sample_type_id)
            ).scalar_one()

    def visit(
        self,
        held: Mapping[str, tuple[int, int]],
        *,
        machine: int = 0,
        at: datetime | None = None,
        samples: int = 1000,
        ingested: bool = True,
    ) -> UUID:
        """One visit of 5 s; `held` has for each binary its samples and how many of them have no name."""
        drawn_at = at or datetime.now(UTC)
        visit_id = uuid4()
        with self.engine.begin() as connection:
            drawn = DrawnVisit(
                visit_id, self.campaign_id, 0, self.machines[machine], self.stratum_id, len(self.machines), 1,
                1 / len(self.machines), drawn_at,
            )  # fmt: skip
            visits.record_draw(connection, [drawn])
            key = capture_key(drawn.day, visit_id)
            captures.record(connection, NewCapture(visit_id, drawn.day, key, 1, 1, b"", samples))
            visits.finish(
                connection, visit_id, outcome=Outcome.ANSWERED, detail="", ended_at=drawn_at, seconds=5.0
            )
            if ingested:
                self._ingest(connection, drawn, held, samples)
        return visit_id

    def ingest(self, visit_id: UUID, *, generation: int | None = None) -> None:
        """Ingest what is wanted of the capture, with the same binaries as before."""
        with self.engine.begin() as connection:
            connection.execute(
                update(capture)
                .where(capture.c.visit_id == visit_id)
                .values(ingested=generation or capture.c.wanted, ingested_at=func.now(), leased_until=None)
            )

    def due(self) -> list[UUID]:
        with self.engine.connect() as connection:
            return [one.visit_id for one in captures.due(connection, limit=100_000)]

    def _ingest(
        self, connection: Connection, drawn: DrawnVisit, held: Mapping[str, tuple[int, int]], samples: int
    ) -> None:
        ids = {key: self.binary(connection, key) for key in sorted(held)}
        connection.execute(
            update(capture)
            .where(capture.c.visit_id == drawn.visit_id)
            .values(ingested=1, ingested_at=func.now() - timedelta(hours=1))
        )
        connection.execute(
            insert(capture_segment).values(
                visit_id=drawn.visit_id,
                segment=0,
                day=drawn.day,
                event="cpu",
                stacks=True,
                sample_type_id=self.sample_type_id,
                source="cpu-clock",
                status="ok",
                errno=0,
                seconds=5.0,
                period=PERIOD,
                requested_period=PERIOD,
                samples=samples,
            )
        )
        rows = [
            {
                "binary_id": ids[key], "visit_id": drawn.visit_id, "day": drawn.day,
                "samples": through, "unresolved": without,
                "cpu_ns": through * PERIOD, "unresolved_cpu_ns": without * PERIOD,
            }
            for key, (through, without) in held.items()
        ]  # fmt: skip
        if rows:
            connection.execute(insert(capture_binary), rows)

    def binary(self, connection: Connection, key: str, **values: str) -> int:
        """The id of the binary, made if it is new."""
        row = {"name": f"{key}.so", "path": f"/usr/lib/{key}.so", "kind": "file"} | values
        connection.execute(upsert(binary).values(key=key, **row).on_conflict_do_nothing())
        return connection.execute(select(binary.c.binary_id).where(binary.c.key == key)).scalar_one()
