"""Streams a day's profiles and samples from PostgreSQL, sorted for readers by event and application."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlalchemy import BigInteger, Connection, Integer, cast, func, select

from storage.blobs.fact_blobs import decode_many
from storage.dictionary_sweep.stream import Batch, stream
from storage.schema import campaign, chunk, dim_value, machine, profile, sample_type, visit
from storage.schema.facts import DIMENSIONS
from storage.segments.export_dictionaries import Used
from storage.segments.writer import TableWriter

Int64 = npt.NDArray[np.int64]
Weights = Mapping[tuple[int, int, bool], npt.NDArray[np.float64]]
"""Weight by visit number, for each campaign, sample type and whether there are stacks."""

_NAMED = ("application", "version", "datacenter", "cluster", "platform", "kernel")
"""The columns that `samples` has by name, in its order."""
_OWN = (
    "profile_id", "generation", "campaign_id", "stratum_id", "hour", "sample_type_id", "stacks", "segment",
    "machine_id", *DIMENSIONS, "label_set_id", "facts", "samples", "period",
)  # fmt: skip
_BATCH_BYTES = 1 << 20
"""Size of a batch of profiles with their chunks: some 300 000 facts, one row group."""


@dataclass(slots=True)
class Met:
    """Ids that the facts refer to."""

    stacks: Used = field(default_factory=Used)
    values: Used = field(default_factory=Used)
    label_sets: Used = field(default_factory=Used)
    machines: Used = field(default_factory=Used)


def write_facts(
    connection: Connection,
    day: date,
    profiles: TableWriter,
    samples: TableWriter,
    weights: Weights,
    *,
    on_facts: Callable[[int], None],
) -> Met:
    """Write all profiles and facts of a day; return the ids that they refer to.

    Visits are numbered by ascending id. PostgreSQL sorts, on disk if necessary, and only one batch at a time is in
    memory here. `on_facts` receives the number of facts of each batch; an exception from it aborts the export. Raises
    `CorruptChunk`, `DatabaseError`, `LakeUnavailable`.
    """
    rows = _Rows(connection, profiles, samples, weights, on_facts)
    number = (
        select(
            visit.c.visit_id,
            cast(func.row_number().over(order_by=visit.c.visit_id) - 1, BigInteger).label("visit"),
        )
        .where(visit.c.day == day)
        .subquery()
    )
    c = profile.c
    own = [cast(c.stacks, Integer).label("stacks") if name == "stacks" else c[name] for name in _OWN]
    statement = (
        select(number.c.visit, *own, chunk.c.data)
        .join(number, number.c.visit_id == c.visit_id)
        .join(chunk, (chunk.c.day == c.day) & (chunk.c.profile_id == c.profile_id))
        .join(dim_value, dim_value.c.value_id == c.application, isouter=True)
        .join(sample_type, sample_type.c.sample_type_id == c.sample_type_id)
        .where(c.day == day, chunk.c.day == day)
        .order_by(
            sample_type.c.event.collate("C"),
            sample_type.c.unit.collate("C"),
            c.campaign_id,
            dim_value.c.value.collate("C").nulls_first(),
            number.c.visit,
            c.profile_id,
        )
    )
    stream(connection, statement, rows.take, batch_bytes=_BATCH_BYTES)
    return rows.met


class _Rows:
    """Converts batches of profiles to row groups."""

    def __init__(
        self,
        connection: Connection,
        profiles: TableWriter,
        samples: TableWriter,
        weights: Weights,
        on_facts: Callable[[int], None],
    ) -> None:
        self.met = Met()
        self._profiles = profiles
        self._samples = samples
        self._weights = weights
        self._on_facts = on_facts
        self._count = 0
        self._names = _names(connection, dim_value.c.value_id, dim_value.c.value, dim_value.c.dim.in_(_NAMED))
        self._machines = _names(connection, machine.c.machine_id, machine.c.name)
        self._campaigns = _names(connection, campaign.c.campaign_id, campaign.c.name)
        self._events = _names(connection, sample_type.c.sample_type_id, sample_type.c.event)
        self._units = _names(connection, sample_type.c.sample_type_id, sample_type.c.unit)

    def take(self, batch: Batch) -> None:
        """Write a batch."""
        of = {name: batch.ints(n) for n, name in enumerate(("visit", *_OWN))}
        number = self._count + np.arange(len(batch))
        self._count += len(batch)
        stacks = of["stacks"].astype(np.bool_)
        self._profiles.add([number, of["visit"], *(stacks if n == "stacks" else of[n] for n in _OWN)])
        for name in DIMENSIONS:
            self.met.values.add(of[name])
        self.met.label_sets.add(of["label_set_id"])
        self.met.machines.add(of["machine_id"])
        facts = of["facts"]
        ids, counts = decode_many(batch.blobs, facts)
        self.met.stacks.add(ids)

        def each(column: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
            return np.repeat(column, facts)

        self._samples.add(
            [
                _named(self._events, of["sample_type_id"], facts),
                _named(self._units, of["sample_type_id"], facts),
                _named(self._campaigns, of["campaign_id"], facts),
                *(_named(self._names, of[name], facts) for name in _NAMED),
                _named(self._machines, of["machine_id"], facts),
                each(stacks),
                each(of["hour"]),
                each(of["visit"]),
                each(number),
                ids,
                counts,
                each(of["period"]),
                each(self._weigh(of, stacks)),
            ]
        )
        self._on_facts(len(ids))

    def _weigh(self, of: Mapping[str, Int64], stacks: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
        weight = np.zeros(len(stacks))
        kinds = np.stack((of["campaign_id"], of["sample_type_id"], stacks.astype(np.int64)), axis=1)
        for campaign_id, sample_type_id, deep in np.unique(kinds, axis=0).tolist():
            here = (kinds == (campaign_id, sample_type_id, deep)).all(axis=1)
            weight[here] = self._weights[campaign_id, sample_type_id, bool(deep)][of["visit"][here]]
        return weight


def _names(connection: Connection, id_: Any, name: Any, *conditions: Any) -> dict[int, str]:
    return {row[0]: row[1] for row in connection.execute(select(id_, name).where(*conditions))}


def _named(names: Mapping[int, str], ids: Int64, facts: Int64) -> "pa.DictionaryArray[Any, Any]":
    """The name of each fact, dictionary-encoded with the names of this batch."""
    used, which = np.unique(ids, return_inverse=True)
    words = pa.array([names.get(id_, "") for id_ in used.tolist()], pa.string())
    places = np.repeat(which.astype(np.int32), facts)
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), words)
