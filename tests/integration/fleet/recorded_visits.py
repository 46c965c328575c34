"""A fleet of a few machines with visits of each outcome, and clients of both roles."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import Connection, Engine, insert
from starlette.testclient import TestClient

from collector.default_campaign import ensure_default_campaign
from fleetpb import capture_pb2
from services.api.app import create_app
from services.api.auth import Access, parse_tokens
from services.fleet.fleet_service import FleetService
from storage import inventory, partitions, visits
from storage.inventory import NewMachine
from storage.query.query_engine import QueryEngine
from storage.schema import Outcome, capture
from storage.visits import DrawnVisit

BASE = "http://127.0.0.1:7070"
VIEWER = {"Authorization": "Bearer " + "v" * 24}
OPERATOR = {"Authorization": "Bearer " + "o" * 24}


@contextmanager
def serving_fleet(engine: Engine, folder: Path) -> Iterator[TestClient]:
    """A client of an app over this database; its requests are an operator's."""
    queries = QueryEngine(engine)
    tokens = [f"viewer:{'v' * 24}", f"operator:{'o' * 24}"]
    app = create_app(
        queries,
        Access(folder / "state", parse_tokens(tokens)),
        static=folder / "static",
        fleet=FleetService(engine),
    )
    with TestClient(app, base_url=BASE, headers=OPERATOR) as client:
        yield client
    queries.close()


class Fleet:
    """Machines and visits of `fleet`, written within the caller's transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.campaign_id = ensure_default_campaign(connection).campaign_id
        self.now = datetime.now(UTC)
        partitions.ensure(connection, [(self.now - timedelta(days=n)).date() for n in range(3)])
        self.stratum_id = inventory.stratum_ids(connection, [("fra", "Zen 3")])["fra", "Zen 3"]

    def machine(self, name: str, *, cpus: int = 8, described: bool = True, **labels: str) -> int:
        """A machine in datacenter fra."""
        new = NewMachine(name, f"{name}.example:7071", datacenter="fra", cluster="web", labels=labels)
        machine_id = inventory.add(self.connection, new)
        if described:
            message = capture_pb2.Machine(
                hostname=name,
                platform="Zen 3",
                kernel_release="6.18.1",
                logical_cpus=cpus,
                cores=cpus // 2,
                os="Debian 12",
                numa_nodes=2,
                labels={"rack": "from-gateway", "zone": "a"},
                events=[
                    capture_pb2.EventSupport(event="cpu", support=capture_pb2.SUPPORT_OK, source="cpu-clock"),
                    capture_pb2.EventSupport(event="cycles", support=capture_pb2.SUPPORT_UNSUPPORTED),
                ],
            )
            inventory.describe(self.connection, machine_id, message)
        return machine_id

    def visit(
        self,
        machine_id: int,
        minutes_ago: float,
        outcome: Outcome = Outcome.ANSWERED,
        *,
        detail: str = "",
        utilisation: float | None = 0.5,
        **of_capture: object,
    ) -> UUID:
        """A visit; an answered one has a capture that is ingested unless `of_capture` has other values."""
        at = self.now - timedelta(minutes=minutes_ago)
        drawn = DrawnVisit(uuid4(), self.campaign_id, 7, machine_id, self.stratum_id, 10, 1, 0.1, at)
        visits.record_draw(self.connection, [drawn])
        if outcome == Outcome.DRAWN:
            return drawn.visit_id
        visits.begin(self.connection, drawn.visit_id, at)
        answered = outcome == Outcome.ANSWERED
        if answered:
            values = {"ingested": 1, "ingested_at": at + timedelta(seconds=20)} | of_capture
            self.connection.execute(
                insert(capture).values(
                    visit_id=drawn.visit_id, day=drawn.day, blob="b", bytes=1234, raw_bytes=9999, sha256=b"",
                    samples=77, **values,
                )
            )  # fmt: skip
        visits.finish(
            self.connection,
            drawn.visit_id,
            outcome=outcome,
            detail=detail,
            ended_at=at + timedelta(seconds=6),
            seconds=5.0 if answered else None,
            utilisation=utilisation,
        )
        return drawn.visit_id
