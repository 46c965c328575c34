"""A small fleet whose captures are ingested by the product's own code, with known shares.

One visit has 100 samples of `search` and 50 of `indexer`, each of PERIOD, unless it is made to differ:

    search   main → handle → parse → malloc          40   self of malloc
             main → handle → parse                   20
             main → handle → parse → parse           10   recursion: parse counts once
             main → handle → libz.so+0x40            20   no symbols
             main → handle → do_syscall_64           10   kernel
    indexer  main → build → <lambda>                 50
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from sqlalchemy import Engine

from collector.default_campaign import ensure_by_hand
from fleetpb import capture_pb2
from storage import campaigns, captures, inventory, partitions, visits
from storage.archive import capture_key
from storage.campaigns import Definition, EventPlan, State
from storage.captures import NewCapture
from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from storage.ingest.symbolized import Status
from storage.inventory import NewMachine
from storage.schema import BY_HAND, Outcome
from storage.visits import DrawnVisit
from tests.synthetic_captures import PERIOD, SyntheticCapture, named, nameless

SAMPLES = 150
SECONDS = SAMPLES * PERIOD / 1e9


@dataclass(frozen=True)
class Seen:
    """What a visit sees; the default is the table above."""

    malloc: int = 40
    """Samples with `malloc` at their leaf, of the 60 in it and its caller `parse`."""
    version: str = "v1"
    """Of `search`."""
    rare: int = 0
    """Samples of `search` that are in `rare` itself."""


USUAL = Seen()


class IngestedFleet:
    """Machines, visits and samples, as the collector and the worker leave them.

    `population`: machines that the visits are drawn from, whether any visit sees them or not.
    """

    def __init__(self, engine: Engine, population: int = 1) -> None:
        self._engine = engine
        self._population = population
        self._interner = Interner(engine)
        with engine.begin() as connection:
            today = datetime.now(UTC).date()
            partitions.ensure(connection, [today - timedelta(days=1), today])
            definition = Definition("fleet", 30, 1, (EventPlan("cpu", 5000, rate_hz=99),))
            self._campaign_id = campaigns.create_or_update(connection, definition).campaign_id
            self._stratum_id = inventory.stratum_ids(connection, [("", "")])["", ""]
            inventory.add(connection, NewMachine("web-01", "web-01:7071"))

    def draw(
        self, machine: str = "web-01", *, ago: timedelta = timedelta(minutes=1), by_hand: bool = False
    ) -> UUID:
        """A visit that was drawn, or asked for by hand, and has not come back."""
        visit_id = uuid4()
        at = datetime.now(UTC) - ago
        with self._engine.begin() as connection:
            machine_id = inventory.add(connection, NewMachine(machine, f"{machine}:7071"), replace=True)
            campaign_id = ensure_by_hand(connection).campaign_id if by_hand else self._campaign_id
            drawn = DrawnVisit(
                visit_id,
                campaign_id,
                BY_HAND if by_hand else 0,
                machine_id,
                self._stratum_id,
                self._population,
                1,
                1.0,
                at,
            )
            visits.record_draw(connection, [drawn])
        return visit_id

    def bring_back(self, visit_id: UUID, *, ago: timedelta = timedelta(minutes=1)) -> None:
        """The visit answered; its capture waits to be ingested."""
        at = datetime.now(UTC) - ago
        with self._engine.begin() as connection:
            visits.begin(connection, visit_id, at)
            key = capture_key(at.date(), visit_id)
            sha256 = hashlib.sha256(visit_id.bytes).digest()
            captures.record(connection, NewCapture(visit_id, at.date(), key, 100, 1000, sha256, SAMPLES))
            visits.finish(
                connection,
                visit_id,
                outcome=Outcome.ANSWERED,
                detail="",
                ended_at=at,
                seconds=5.0,
                utilisation=0.5,
            )

    def ingest(self, visit_id: UUID, seen: Seen = USUAL) -> None:
        """The capture's samples become rows."""
        message, resolved = _capture(visit_id, seen).finished()
        assert ingest(self._engine, self._interner, visit_id, 1, message, resolved).outcome == "ingested"

    def visit(
        self,
        machine: str = "web-01",
        *,
        ago: timedelta = timedelta(minutes=1),
        seen: Seen = USUAL,
        by_hand: bool = False,
    ) -> None:
        """All of it: drawn, answered, ingested."""
        visit_id = self.draw(machine, ago=ago, by_hand=by_hand)
        self.bring_back(visit_id, ago=ago)
        self.ingest(visit_id, seen)

    def stop(self, why: str) -> None:
        """The brake stopped the campaign."""
        with self._engine.begin() as connection:
            assert campaigns.set_state(connection, "fleet", State.STOPPED, why)


def _capture(visit_id: UUID, seen: Seen) -> SyntheticCapture:
    made = SyntheticCapture(visit_id)
    app = made.mapping("/usr/bin/search", build_id=b"\x01" * 20)
    libz = made.mapping("/usr/lib/libz.so", build_id=b"\xaa" * 20)
    kernel = made.mapping("[kernel]", build_id=b"\x02" * 20, kind=capture_pb2.Mapping.KERNEL)
    syscall = named("do_syscall_64", file="common.c", binary="[kernel]", status=Status.SYMTAB)
    main = made.frame(app, (named("main"), 10))
    handle = made.frame(app, (named("net::Server<net::Tcp, 4>::handle(net::Request const&)"), 20))
    parse = made.frame(app, (named("parse"), 30))
    again = made.frame(app, (named("parse"), 31))
    malloc = made.frame(app, (named("malloc", binary="libc.so.6"), 0))
    rare = made.frame(app, (named("rare"), 32))
    unknown = made.frame(libz, (nameless(0x40, binary="libz.so"), 0))
    enter = made.frame(kernel, (syscall, 0))
    build = made.frame(app, (named("build", binary="indexer"), 40))
    inner = made.frame(app, (named("index.<lambda>", binary="indexer"), 41))

    search = made.group(
        "/usr/bin/search", comm="search", team="web", application="search", version=seen.version
    )
    indexer = made.group("/usr/bin/indexer", comm="indexer")
    others = {made.stack([rare, handle, main]): seen.rare} if seen.rare else {}
    made.segment(
        {
            search: {
                **others,
                made.stack([malloc, parse, handle, main]): seen.malloc,
                made.stack([parse, handle, main]): 60 - seen.malloc,
                made.stack([again, parse, handle, main]): 10,
                made.stack([unknown, handle, main]): 20,
                made.stack([enter, handle, main]): 10,
            },
            indexer: {made.stack([inner, build, main]): 50},
        }
    )
    return made
