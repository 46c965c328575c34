"""GIVEN gateways of other versions WHEN they are visited THEN what they say is taken as far as it is understood."""

from collections.abc import Iterator

import pytest
import zstandard
from google.protobuf.message import Message
from sqlalchemy import select

from fleetpb import capture_pb2, gateway_pb2
from storage import inventory
from storage.inventory import NewMachine
from storage.schema import capture, machine, visit
from symbolizer.images.resolve import Resolver
from symbolizer.sources.local_files import LocalFiles
from symbolizer.worker.ingestion import Ingester
from tests import fake_gateways
from tests.fake_gateways import Message as Said
from tests.fake_gateways import Reply, begin, capture_of, end, packed, serving
from tests.integration.collector.running_collector import QUICK, a_collector, define, eventually, running

pytestmark = pytest.mark.integration

# Field 1999 of every message, a string: what this version does not know.
NEWER = b"\xfa\x7c\x05newer"


def add_unknown(message: Message) -> bytes:
    """The message as a newer gateway writes it."""
    return message.SerializeToString() + NEWER


def newer_capture(plan: gateway_pb2.Plan) -> bytes:
    """Format 1 still, with fields nobody here knows, also inside, and an event whose verdict is a new one."""
    message = capture_of(plan.visit_id)
    message.segments.add(event=1, source=2, unit=3, support=77, errno=5, cpus=[0])
    message.mappings[0].MergeFromString(NEWER)
    message.segments[0].MergeFromString(NEWER)
    message.counters.add(cpu=0).counters.add(name=1, support=77)
    return zstandard.compress(add_unknown(message))


def newer_gateway(plan: gateway_pb2.Plan, _context: object) -> Iterator[Said]:
    blob = newer_capture(plan)
    yield add_unknown(begin())
    # A kind of reply that is not known here comes as a reply with nothing in it.
    yield NEWER
    yield Reply(data=blob)
    yield add_unknown(end(blob))


def older_gateway(plan: gateway_pb2.Plan, _context: object) -> Iterator[Said]:
    """Says the least that a first version said: no utilisation, no changes, no system state."""
    message = capture_of(plan.visit_id)
    for field in ("machine", "system", "cost", "producer"):
        message.ClearField(field)
    blob = packed(message)
    yield Reply(begin=gateway_pb2.Begin(duration_ms=50))
    yield Reply(data=blob)
    yield Reply(end=gateway_pb2.End(sha256=end(blob).end.sha256, bytes=len(blob), samples=7, seconds=0.05))


@pytest.mark.slow
def test_newer_and_older_gateways_are_visited_and_their_captures_are_ingested(
    engine, archive, server_directory, tmp_path
):
    sent = []
    with (
        serving(server_directory / "newer", newer_gateway) as new,
        serving(server_directory / "older", older_gateway) as old,
    ):
        new.machine = add_unknown(fake_gateways.MACHINE)
        old.machine = capture_pb2.Machine(hostname="old", architecture="x86_64").SerializeToString()
        define(engine, QUICK, NewMachine("new", new.address), NewMachine("old", old.address))
        with running(a_collector(engine, archive, sent.append)):
            eventually(lambda: len(sent) >= 4)
    with engine.connect() as connection:
        ended = connection.execute(
            select(machine.c.name, visit.c.outcome)
            .join(visit, visit.c.machine_id == machine.c.machine_id)
            .where(visit.c.visit_id.in_(sent))
        ).all()
        assert inventory.find(connection, "new").platform == "Test CPU"
    assert set(map(tuple, ended)) == {("new", "answered"), ("old", "answered")}
    ingester = Ingester(engine, archive, Resolver(LocalFiles(), tmp_path / "symbols"))
    for visit_id in dict.fromkeys(sent):
        ingester.ingest(visit_id)
    with engine.connect() as connection:
        ingested = set(connection.scalars(select(capture.c.visit_id).where(capture.c.ingested == 1)))
    assert ingested >= set(sent)
