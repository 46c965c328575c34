"""Facts in a database without a gateway: rows written directly, the way ingestion leaves them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy import Connection, Table, insert, select, update

from storage import partitions
from storage.blobs.fact_blobs import Lines, encode, encode_lines
from storage.schema import (
    campaign,
    capture,
    chunk,
    dim_value,
    function,
    label_set,
    line_chunk,
    machine,
    profile,
    sample_type,
    stratum,
    visit,
)
from storage.schema.facts import DIMENSIONS
from tests.dictionary_stacks import add_stack


@dataclass(frozen=True, slots=True)
class Visit:
    id: UUID
    drawn_at: datetime
    machine_id: int
    campaign_id: int
    stratum_id: int


class FactWriter:
    """Inserts within the caller's transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._segments = itertools.count()
        self._values: dict[tuple[str, str], int] = {}

    def function(
        self,
        name: str,
        *,
        file: str = "",
        binary: str = "",
        status: int = 3,
        kind: int = 0,
        start: tuple[str, int] | None = None,
    ) -> int:
        """`start`: (binary key, offset) of a function without a name."""
        key, offset = start or (None, None)
        statement = insert(function).values(
            hash=uuid4(), kind=kind, name=name, raw_name=name, file=file, binary_name=binary,
            status=status, binary_key=key, start=offset,
        )  # fmt: skip
        return self._connection.execute(statement.returning(function.c.function_id)).scalar_one()

    def alias(self, nameless: int, named: int) -> None:
        self._connection.execute(
            update(function).where(function.c.function_id == nameless).values(alias_of=named)
        )

    def stack(self, frames: Sequence[int]) -> int:
        return add_stack(self._connection, frames)

    def visit(self, machine_name: str, drawn_at: datetime, *, campaign_name: str = "fleet") -> Visit:
        partitions.ensure(self._connection, [drawn_at.date()])
        machine_id = self._known(
            machine, machine.c.machine_id, {"name": machine_name}, {"address": "unix:/x"}
        )
        stratum_id = self._known(stratum, stratum.c.stratum_id, {"datacenter": "", "platform": ""}, {})
        campaign_id = self._known(
            campaign,
            campaign.c.campaign_id,
            {"name": campaign_name},
            {
                "period_s": 10,
                "visits_per_round": 1,
                "plan": [{"event": "cpu", "duration_ms": 5000, "rate_hz": 99.0}],
                "failure_threshold": 0.5,
                "failure_window": 20,
            },
        )
        row = Visit(uuid4(), drawn_at, machine_id, campaign_id, stratum_id)
        self._connection.execute(
            insert(visit).values(
                visit_id=row.id,
                day=drawn_at.date(),
                hour=int(drawn_at.timestamp()) // 3600,
                campaign_id=campaign_id,
                round=0,
                machine_id=machine_id,
                stratum_id=stratum_id,
                population=1,
                drawn=1,
                probability=1.0,
                drawn_at=drawn_at,
                outcome="answered",
                seconds=5.0,
            )
        )
        self._connection.execute(
            insert(capture).values(
                visit_id=row.id,
                day=drawn_at.date(),
                blob="none",
                bytes=1,
                raw_bytes=1,
                sha256=b"",
                samples=0,
                wanted=1,
                ingested=1,
                ingested_at=drawn_at,
            )
        )
        return row

    def profile(
        self,
        of: Visit,
        samples: Mapping[int, int],
        *,
        labels: Mapping[str, str] | None = None,
        period: int = 10_000_000,
        event: str = "cpu",
        unit: str = "nanoseconds",
        stacks: bool = True,
        lines: Mapping[tuple[int, int], tuple[int, int]] | None = None,
    ) -> None:
        """`samples` by stack id; labels that are no dimension go into the label set.

        `lines` has (samples as leaf, samples anywhere) by (function id, line ≥ 1).
        """
        given = dict(labels or {})
        dims = {dim: self._value(dim, given.pop(dim, "")) for dim in DIMENSIONS}
        key = {
            "day": of.drawn_at.date(),
            "profile_id": uuid4().int >> 66,
        }
        self._connection.execute(
            insert(profile).values(
                **key,
                **dims,
                visit_id=of.id,
                generation=1,
                campaign_id=of.campaign_id,
                stratum_id=of.stratum_id,
                hour=int(of.drawn_at.timestamp()) // 3600,
                machine_id=of.machine_id,
                stacks=stacks,
                sample_type_id=self._known(
                    sample_type, sample_type.c.sample_type_id, {"event": event, "unit": unit}, {}
                ),
                segment=next(self._segments) % 30_000,
                label_set_id=self._known(
                    label_set, label_set.c.label_set_id, {"labels": given}, {"hash": uuid4()}
                ),
                facts=len(samples),
                samples=sum(samples.values()),
                period=period,
            )
        )
        ordered = dict(sorted(samples.items()))
        self._connection.execute(
            insert(chunk).values(**key, data=encode(list(ordered), list(ordered.values())))
        )
        if lines:
            rows = sorted((*where, *counts) for where, counts in lines.items())
            function_ids, numbers, own, total = (np.array(column) for column in zip(*rows, strict=True))
            blob = encode_lines(Lines(function_ids, numbers, own, total))
            self._connection.execute(insert(line_chunk).values(**key, facts=len(rows), data=blob))

    def _value(self, dim: str, value: str) -> int:
        if (dim, value) not in self._values:
            key = {"dim": dim, "value": value}
            self._values[dim, value] = self._known(dim_value, dim_value.c.value_id, key, {})
        return self._values[dim, value]

    def _known(self, table: Table, id_, key: dict, others: dict) -> int:
        found = self._connection.execute(
            select(id_).where(*(table.c[n] == v for n, v in key.items()))
        ).scalar()
        if found is None:
            found = self._connection.execute(
                insert(table).values(**key, **others).returning(id_)
            ).scalar_one()
        return found
