"""A day of a synthetic fleet in PostgreSQL, as ingestion leaves it, for export."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

import numpy as np
from sqlalchemy import insert

from benchmarks.store.calendar import latest
from benchmarks.store.database import STRATA, make_fleet, meet
from benchmarks.store.fleet import PERIOD_NS, Fleet, visits_of
from benchmarks.store.vocabulary import APPLICATIONS, make_vocabulary
from storage.blobs.fact_blobs import encode_many
from storage.ingest.interning import Interner
from storage.schema import (
    OF_THE_GROUP,
    OF_THE_MACHINE,
    capture,
    capture_segment,
    chunk,
    coverage,
    profile,
    visit,
)

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from benchmarks.store.fleet import Group
    from benchmarks.store.vocabulary import Ints

DAY: Final = latest(datetime.now(UTC)).last
_SEED: Final = 7
_SECONDS: Final = 5.0
_UTILISATION: Final = 0.6
_CLASS: Final = 2
_TOGETHER: Final = 50
"""Visits in one transaction."""


def fill(engine: Engine, *, machines: int, stacks: int, facts: int) -> int:
    """Ingest visits of a day until there are `facts` facts; returns the number of visits."""
    rng = np.random.default_rng(_SEED)
    vocabulary = make_vocabulary(stacks, 400, rng)
    with engine.begin() as connection:
        places = make_fleet(connection, machines, [DAY])
    known = meet(engine, vocabulary)
    interner = Interner(engine)
    sample_type = int(interner.sample_types([("cpu", "nanoseconds")])[0])
    dimensions = dict.fromkeys((*OF_THE_GROUP, *OF_THE_MACHINE), 0)
    for name in dimensions:
        dimensions[name] = int(interner.labels(name, [""])[0])
    applications = interner.labels("application", [f"app{n:03d}" for n in range(APPLICATIONS)])
    labels = int(interner.label_sets([{}])[0])
    ids = random.Random(_SEED)
    visits = list(visits_of(Fleet(vocabulary, _SEED, machines=machines), facts, new_share=0.0))
    step_s = 86_400 / len(visits)
    drawn: dict[tuple[int, int], int] = {}
    for first in range(0, len(visits), _TOGETHER):
        rows: dict[str, list[dict[str, object]]] = {
            name: [] for name in ("visit", "capture", "segment", "profile", "chunk")
        }
        for number, (machine, groups) in enumerate(visits[first : first + _TOGETHER], first):
            at = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC) + timedelta(seconds=number * step_s)
            hour, stratum = int(at.timestamp()) // 3600, places.strata[machine % STRATA]
            visit_id, machine_id = UUID(int=ids.getrandbits(128)), places.machines[machine]
            drawn[stratum, hour] = drawn.get((stratum, hour), 0) + 1
            key = {"visit_id": visit_id, "day": DAY}
            rows["visit"].append(key | {
                "hour": hour, "campaign_id": places.campaigns[0], "round": number, "machine_id": machine_id,
                "stratum_id": stratum, "population": machines // STRATA, "drawn": 1, "probability": 0.1,
                "drawn_at": at, "ended_at": at, "outcome": "answered", "seconds": _SECONDS,
                "utilisation": _UTILISATION,
            })  # fmt: skip
            rows["capture"].append(key | {
                "blob": "", "bytes": 1, "raw_bytes": 1, "sha256": b"", "samples": 1, "ingested": 1,
            })  # fmt: skip
            rows["segment"].append(key | {
                "segment": 0, "event": "cpu", "sample_type_id": sample_type, "stacks": True, "source": "cpu-clock",
                "status": "ok", "errno": 0, "seconds": _SECONDS, "period": PERIOD_NS, "requested_period": PERIOD_NS,
                "samples": 1,
            })  # fmt: skip
            for group, (stack, count, data) in zip(groups, _chunks(groups, known), strict=True):
                profile_id = ids.getrandbits(63)
                rows["profile"].append(key | dimensions | {
                    "profile_id": profile_id, "generation": 1, "campaign_id": places.campaigns[0],
                    "stratum_id": stratum, "hour": hour, "sample_type_id": sample_type, "stacks": True,
                    "segment": 0, "machine_id": machine_id, "label_set_id": labels, "facts": len(stack),
                    "application": int(applications[group.application]), "samples": int(count.sum()),
                    "period": PERIOD_NS,
                })  # fmt: skip
                rows["chunk"].append({"day": DAY, "profile_id": profile_id, "data": data})
        with engine.begin() as connection:
            for table, name in (
                (visit, "visit"), (capture, "capture"), (capture_segment, "segment"), (profile, "profile"),
                (chunk, "chunk"),
            ):  # fmt: skip
                connection.execute(insert(table), rows[name])
    with engine.begin() as connection:
        connection.execute(
            insert(coverage),
            [
                {
                    "campaign_id": places.campaigns[0], "stratum_id": stratum, "hour": hour, "day": DAY,
                    "utilisation_class": _CLASS, "population": machines // STRATA, "drawn": n, "answered": n,
                    "failed": 0, "seconds": _SECONDS * n,
                }
                for (stratum, hour), n in drawn.items()
            ],
        )  # fmt: skip
    return len(visits)


def _chunks(groups: list[Group], known: Ints) -> list[tuple[Ints, Ints, bytes]]:
    """(stack ids, samples, chunk) of each group; stacks that differ only in lines count as one."""
    parts = []
    for group in groups:
        ids, place = np.unique(known[group.stacks], return_inverse=True)
        parts.append((ids, np.bincount(place, weights=group.counts).astype(np.int64)))
    blobs = encode_many(
        np.concatenate([ids for ids, _ in parts]),
        np.concatenate([counts for _, counts in parts]),
        [len(ids) for ids, _ in parts],
    )
    return [(ids, counts, blob) for (ids, counts), blob in zip(parts, blobs, strict=True)]
