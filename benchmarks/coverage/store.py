"""Store visits to the synthetic fleet as rows and captures, and ingest the captures by the product's own code."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid5

import numpy as np
from sqlalchemy import insert

from benchmarks.coverage.fleet import SECONDS, joined
from fleetpb import capture_pb2
from storage import campaigns, inventory, partitions
from storage.campaigns import Definition, EventPlan
from storage.coverage import CLASSES, UNKNOWN_CLASS
from storage.ingest.ingest import ToIngest, ingest_many
from storage.ingest.interning import Interner
from storage.ingest.symbolized import FunctionName, ResolvedFrames, Status
from storage.rollup.apply_queue import RollupWriter
from storage.schema import capture, coverage, machine, visit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Engine

    from benchmarks.coverage.fleet import Fleet, Int, Seen

FIRST_DAY: Final = date(2026, 1, 5)
PERIOD: Final = 10_000_000
"""Nanoseconds per sample."""
_TOGETHER: Final = 250
"""Captures ingested in one transaction."""
_NAMESPACE: Final = UUID("6d0f3c1e-6f0f-4c8e-9a35-0c6f5d0f7a11")


class IngestionFailed(Exception):
    """A capture was not ingested."""


def prepare(engine: Engine, fleet: Fleet) -> Int:
    """Write the inventory and the days; returns the id of each machine, by its number in the fleet."""
    with engine.begin() as connection:
        partitions.ensure(connection, [FIRST_DAY + timedelta(days) for days in range(fleet.days)])
        keys = _keys(len(fleet.population))
        rows = [
            {"name": f"m{i}", "address": f"m{i}:1", "datacenter": keys[s][0], "platform": keys[s][1]}
            for i, s in enumerate(fleet.stratum.tolist())
        ]
        found = connection.execute(
            insert(machine).returning(machine.c.machine_id, sort_by_parameter_order=True), rows
        )
        return np.array(found.scalars().all())


def merge(engine: Engine, visits: int) -> None:
    """Merge the first `visits` ingested visits into cells; the others wait.

    Some queries therefore read cells, some chunks, and some both.
    """
    writer = RollupWriter(engine)
    while visits > 0:
        merged = writer.rollup(batch=min(_TOGETHER, visits)).entries
        if not merged:
            raise IngestionFailed(f"{visits} visits that should wait to be merged do not")
        visits -= merged


class Writer:
    """Writes campaigns of visits and ingests their captures, in one process."""

    def __init__(self, engine: Engine, fleet: Fleet, machines: Int) -> None:
        self._engine = engine
        self._fleet = fleet
        self._machines = machines
        self._interner = Interner(engine)
        self._template, self._resolved = _template(fleet.names)

    def write(self, name: str, hours: Sequence[Seen], paces: Sequence[float], start: datetime) -> None:
        """Write one campaign: the visits of each hour from `start` on, evenly spaced, the first at the hour's begin.

        `paces` are the planned visits of each hour. Unsuccessful visits are failures; the utilisation of unreachable
        machines is unknown.
        """
        seen = joined(hours)
        ids = [uuid5(_NAMESPACE, f"{name} {number}") for number in range(len(seen.machine))]
        drawn_at = [
            start + timedelta(hours=hour + number / len(of_hour.machine))
            for hour, of_hour in enumerate(hours)
            for number in range(len(of_hour.machine))
        ]
        with self._engine.begin() as connection:
            plan = EventPlan("cpu", int(SECONDS * 1000), rate_hz=100)
            definition = Definition(name, 3600, len(ids) / len(hours), (plan,))
            campaign = campaigns.create_or_update(connection, definition).campaign_id
            strata = {
                hour: self._strata(connection, pace) for hour, pace in enumerate(paces, start=_hour(start))
            }
            connection.execute(insert(visit), self._visits(seen, campaign, ids, drawn_at, strata))
            connection.execute(insert(coverage), self._coverage(seen, campaign, drawn_at, strata))
            answered = np.flatnonzero(seen.answered).tolist()
            connection.execute(insert(capture), [_capture(ids[i], drawn_at[i]) for i in answered])
        for first in range(0, len(answered), _TOGETHER):
            some = answered[first : first + _TOGETHER]
            items = [ToIngest(ids[i], 1, self._message(ids[i], seen.counts[i]), self._resolved) for i in some]
            for ingested in ingest_many(self._engine, self._interner, items):
                if ingested.outcome != "ingested":
                    raise IngestionFailed(f"a capture of {name} was not ingested: {ingested.error}")

    def _strata(self, connection: Connection, pace: float) -> Sequence[int]:
        """The database's ids of the fleet's strata in hours of this pace."""
        keys = _keys(len(self._fleet.population))
        ids = inventory.stratum_ids(connection, keys, visits_per_hour=pace)
        return [ids[key] for key in keys]

    def _visits(
        self,
        seen: Seen,
        campaign: int,
        ids: Sequence[UUID],
        drawn_at: Sequence[datetime],
        strata: Mapping[int, Sequence[int]],
    ) -> list[dict[str, object]]:
        population = self._fleet.population
        return [
            {
                "visit_id": ids[i],
                "day": drawn_at[i].date(),
                "hour": _hour(drawn_at[i]),
                "campaign_id": campaign,
                "round": _hour(drawn_at[i]),
                "machine_id": int(self._machines[seen.machine[i]]),
                "stratum_id": strata[_hour(drawn_at[i])][seen.stratum[i]],
                "population": int(population[seen.stratum[i]]),
                "drawn": 1,
                "probability": len(ids) / int(population.sum()),
                "drawn_at": drawn_at[i],
                "outcome": "answered" if seen.answered[i] else "unreachable",
                "seconds": SECONDS if seen.answered[i] else None,
                "utilisation": float(seen.utilisation[i]) if seen.utilisation_known[i] else None,
            }
            for i in range(len(ids))
        ]

    def _coverage(
        self, seen: Seen, campaign: int, drawn_at: Sequence[datetime], strata: Mapping[int, Sequence[int]]
    ) -> list[dict[str, object]]:
        hours = np.array([_hour(moment) for moment in drawn_at])
        quarter = np.minimum((seen.utilisation * CLASSES).astype(np.int64), CLASSES - 1)
        klass = np.where(seen.utilisation_known, quarter, UNKNOWN_CLASS)
        rows = []
        for hour in np.unique(hours).tolist():
            for stratum, population in enumerate(self._fleet.population.tolist()):
                here = (hours == hour) & (seen.stratum == stratum)
                for number in range(UNKNOWN_CLASS, CLASSES):
                    of = here & (klass == number)
                    answered = int((of & seen.answered).sum())
                    rows.append(
                        {
                            "campaign_id": campaign,
                            "stratum_id": strata[hour][stratum],
                            "hour": hour,
                            "utilisation_class": number,
                            "day": datetime.fromtimestamp(hour * 3600, UTC).date(),
                            "population": population,
                            "drawn": int(of.sum()),
                            "answered": answered,
                            "failed": int(of.sum()) - answered,
                            "seconds": SECONDS * answered,
                        }
                    )
        return rows

    def _message(self, visit_id: UUID, counts: Int) -> capture_pb2.Capture:
        message = capture_pb2.Capture()
        message.CopyFrom(self._template)
        message.visit_id = visit_id.bytes
        segment = message.segments[0]
        segment.samples = int(counts.sum())
        seen = np.flatnonzero(counts)
        if len(seen):
            segment.profiles.add(
                group=0, stack_delta=np.diff(seen, prepend=0).tolist(), count=counts[seen].tolist()
            )
        return message


def _template(names: Sequence[str]) -> tuple[capture_pb2.Capture, ResolvedFrames]:
    """A capture of one process group in which every function has one stack, and its resolved frames."""
    strings = ["", "/usr/bin/app", "app", "cpu", "nanoseconds", "cpu-clock"]
    message = capture_pb2.Capture(format=1, strings=strings)
    message.window.duration_ns = int(SECONDS * 1e9)
    message.mappings.add(kind=capture_pb2.Mapping.FILE, path=1, build_id=b"\x01" * 20)
    message.groups.add(comm=2, exe=1, processes=1)
    for number in range(len(names)):
        message.frames.mapping.append(0)
        message.frames.offset.append(16 * number)
        message.frames.into_function.append(1)
        message.frames.flags.append(0)
        message.stacks.frames.append(number)
        message.stacks.length.append(1)
        message.stacks.end.append(capture_pb2.STACK_END_COMPLETE)
    message.segments.add(
        event=3,
        unit=4,
        source=5,
        support=capture_pb2.SUPPORT_OK,
        period=PERIOD,
        requested_period=PERIOD,
        stacks=True,
        duration_ns=int(SECONDS * 1e9),
    )
    functions = tuple(FunctionName(name, name, "app.c", "app", Status.FULL) for name in names)
    return message, ResolvedFrames(
        functions=functions,
        offsets=np.arange(len(names) + 1, dtype=np.int64),
        function=np.arange(len(names), dtype=np.int32),
        line=np.ones(len(names), np.int32),
        status=np.full(len(names), Status.FULL, np.uint8),
    )


def _capture(visit_id: UUID, drawn_at: datetime) -> dict[str, object]:
    return {
        "visit_id": visit_id,
        "day": drawn_at.date(),
        "blob": f"made/{visit_id}",
        "bytes": 1,
        "raw_bytes": 1,
        "sha256": visit_id.bytes * 2,
        "samples": 1,
    }


def _keys(strata: int) -> list[tuple[str, str]]:
    """Datacenter and platform of the fleet's strata."""
    return [(f"dc{number}", f"cpu{number}") for number in range(strata)]


def _hour(moment: datetime) -> int:
    return int(moment.timestamp() // 3600)
