"""Visits with facts for cells, written as ingestion leaves them; and what cells should say of them, by hand.

The oracle is the slow and obvious way: Python integers in dictionaries, one fact after the other.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import isclose
from typing import Any
from uuid import UUID, uuid4

import numpy as np
from sqlalchemy import Connection, Engine, delete, insert, literal, select, text

from storage import partitions
from storage.blobs.fact_blobs import decode_many, encode
from storage.coverage import utilisation_class
from storage.rollup import rollup_days, unpacked_moments
from storage.rollup.moments import machine_bit
from storage.schema import (
    campaign,
    capture_segment,
    chunk,
    exposure,
    machine,
    profile,
    rollup,
    rollup_queue,
    rollup_retraction,
    sample_type,
    stratum,
    visit,
)
from tests.dictionary_stacks import add_stack, functions_by_stack

HOUR_S = 3600
DAY_0 = 20_000
"""A day since 1970; 4-, 16- and 64-day buckets begin at its multiples of 32."""
_PROFILE_COLUMNS = [c.name for c in rollup_retraction.c if c.name not in {"entry_id", "data"}]


@dataclass(frozen=True)
class Seen:
    """One profile of a visit."""

    facts: Mapping[int, int]
    """Samples by stack id."""
    application: int = 1
    version: int = 1
    period: int = 10
    sample_type: int = 1
    stacks: bool = True


class CellFacts:
    """Dictionaries made once; visits ingested at will."""

    def __init__(
        self, engine: Engine, *, strata: int = 2, machines: int = 5, days: Sequence[int] = (DAY_0,)
    ) -> None:
        self.engine = engine
        self._segments = itertools.count()
        with engine.begin() as connection:
            partitions.ensure(connection, [datetime.fromtimestamp(d * 86400, UTC).date() for d in days])
            for n in range(machines):
                connection.execute(insert(machine).values(name=f"m{n}", address="unix:/x"))
            for n in range(strata):
                connection.execute(insert(stratum).values(datacenter=f"d{n}", platform=""))
            for name in ("fleet", "other"):
                connection.execute(
                    insert(campaign).values(
                        name=name,
                        period_s=10,
                        visits_per_round=1,
                        plan=[],
                        failure_threshold=0.5,
                        failure_window=20,
                    )
                )
            for event, kind in (("cpu", "rate"), ("faults", "rate"), ("heap", "gauge")):
                connection.execute(insert(sample_type).values(event=event, unit="u", kind=kind))

    def stacks(self, many: Sequence[Sequence[int]]) -> list[int]:
        """Ids of stacks of functions 1…"""
        with self.engine.begin() as connection:
            return [add_stack(connection, frames) for frames in many]

    def visit(
        self,
        hour: int,
        *,
        machine_id: int = 1,
        stratum_id: int = 1,
        campaign_id: int = 1,
        utilisation: float | None = 0.1,
    ) -> UUID:
        id_ = uuid4()
        drawn_at = datetime.fromtimestamp(hour * HOUR_S + 7, UTC)
        with self.engine.begin() as connection:
            connection.execute(
                insert(visit).values(
                    visit_id=id_, day=drawn_at.date(), hour=hour, campaign_id=campaign_id, round=1,
                    machine_id=machine_id, stratum_id=stratum_id, population=10, drawn=1, probability=0.1,
                    drawn_at=drawn_at, outcome="answered", seconds=5.0, utilisation=utilisation,
                )
            )  # fmt: skip
        return id_

    def ingest(
        self,
        id_: UUID,
        seen: Sequence[Seen],
        *,
        watched: Sequence[tuple[int, bool, float]] = ((1, True, 5.0),),
        again: bool = False,
    ) -> None:
        """Ingest a visit, or ingest it again in place of what is there; watched: (sample type, stacks, seconds)."""
        with self.engine.begin() as connection:
            row = connection.execute(select(visit).where(visit.c.visit_id == id_)).one()
            if again:
                self._take_out(connection, id_, row.day)
            for n, (sample_type_id, stacks, seconds) in enumerate(watched):
                connection.execute(
                    insert(capture_segment).values(
                        visit_id=id_, segment=n, day=row.day, event="e", sample_type_id=sample_type_id,
                        stacks=stacks, source="s", status="ok", errno=0, seconds=seconds, period=1,
                        requested_period=1, samples=0,
                    )
                )  # fmt: skip
            for one in seen:
                self._profile(connection, row, one)
            if watched:
                connection.execute(insert(rollup_queue).values(day=row.day, visit_id=id_, sign=1))

    def _take_out(self, connection: Connection, id_: UUID, day: Any) -> None:
        pending = connection.execute(
            delete(rollup_queue).where(rollup_queue.c.visit_id == id_, rollup_queue.c.sign == 1)
        ).rowcount
        mine = (profile.c.day == day) & (profile.c.visit_id == id_)
        if not pending:
            entry = connection.scalar(
                insert(rollup_queue).values(day=day, visit_id=id_, sign=-1).returning(rollup_queue.c.entry_id)
            )
            old = select(literal(entry), *(profile.c[name] for name in _PROFILE_COLUMNS), chunk.c.data).join(
                chunk, (chunk.c.day == profile.c.day) & (chunk.c.profile_id == profile.c.profile_id)
            )
            connection.execute(
                insert(rollup_retraction).from_select(
                    ["entry_id", *_PROFILE_COLUMNS, "data"], old.where(mine)
                )
            )
        ids = select(profile.c.profile_id).where(mine)
        connection.execute(delete(chunk).where(chunk.c.day == day, chunk.c.profile_id.in_(ids)))
        connection.execute(delete(profile).where(mine))
        connection.execute(delete(capture_segment).where(capture_segment.c.visit_id == id_))

    def _profile(self, connection: Connection, of: Any, seen: Seen) -> None:
        facts = dict(sorted(seen.facts.items()))
        key = {"day": of.day, "profile_id": uuid4().int >> 66}
        nothing = dict.fromkeys(
            (
                "image",
                "build_id",
                "container",
                "job",
                "compiler",
                "datacenter",
                "cluster",
                "platform",
                "kernel",
            ),
            0,
        )
        connection.execute(
            insert(profile).values(
                **key, **nothing, visit_id=of.visit_id, generation=1, campaign_id=of.campaign_id,
                stratum_id=of.stratum_id, hour=of.hour, machine_id=of.machine_id, stacks=seen.stacks,
                sample_type_id=seen.sample_type, segment=next(self._segments) % 30_000, label_set_id=0,
                application=seen.application, version=seen.version, facts=len(facts),
                samples=sum(facts.values()), period=seen.period,
            )
        )  # fmt: skip
        connection.execute(insert(chunk).values(**key, data=encode(list(facts), list(facts.values()))))


@dataclass
class Cell:
    """What a cell says; moments by function: (visits, Σy, Σy², Σxy, Σy⁴) for self and total."""

    facts: Counter[int] = field(default_factory=Counter)
    profiles: int = 0
    visits: int = 0
    samples: int = 0
    total: int = 0
    moments: dict[str, Any] | None = None


Key = tuple[int, ...]


def expected(engine: Engine) -> tuple[dict[Key, Cell], dict[Key, tuple[int, float]]]:
    """Cells and exposure that follow from the facts in the database."""
    with engine.connect() as connection:
        waiting = set(connection.scalars(select(rollup_queue.c.visit_id).where(rollup_queue.c.sign == 1)))
        taken = select(rollup_queue.c.entry_id, rollup_queue.c.visit_id).where(rollup_queue.c.sign == -1)
        out = {row.entry_id: row.visit_id for row in connection.execute(taken)}
        visits = {row.visit_id: row for row in connection.execute(select(visit))}
        frames = functions_by_stack(connection)
        now = connection.execute(
            select(profile, chunk.c.data).join(
                chunk, (chunk.c.day == profile.c.day) & (chunk.c.profile_id == profile.c.profile_id)
            )
        ).all()
        before = connection.execute(select(rollup_retraction)).all()
        segments = connection.execute(select(capture_segment)).all()
        every = frozenset(visit.hour // 24 for visit in visits.values())
        with_daily_rollup = rollup_days.with_daily_rollup(connection, every)
    rows = [(("now", row.visit_id), row.visit_id, row) for row in now if row.visit_id not in waiting]
    rows += [(("before", row.entry_id), out[row.entry_id], row) for row in before if row.entry_id in out]
    return _cells(rows, visits, frames, with_daily_rollup), _exposure(
        list(segments), visits, waiting, list(out.values())
    )


def _cells(
    rows: list[Any],
    visits: Mapping[UUID, Any],
    frames: Mapping[int, list[int]],
    with_daily_rollup: frozenset[int],
) -> dict[Key, Cell]:
    cells: dict[Key, Cell] = defaultdict(Cell)
    per_visit: dict[Key, dict[Any, Counter[Any]]] = defaultdict(lambda: defaultdict(Counter))
    of_event: Counter[Any] = Counter()
    machine_of: dict[Any, int] = {}
    for member, visit_id, row in rows:
        of = visits[visit_id]
        machine_of[member] = of.machine_id
        ids, values = decode_many([bytes(row.data)], [row.facts])
        units = {i: v * row.period for i, v in zip(ids.tolist(), values.tolist(), strict=True)}
        source = (of.campaign_id, int(row.stacks), row.sample_type_id)
        base = (*source, of.stratum_id, utilisation_class(of.utilisation))
        of_event[member, source] += sum(units.values())
        for cube, keys in ((1, (0, 0)), (2, (row.application, 0))):
            for level, bucket in ((-1, of.hour), (0, of.hour // 24)):
                if level == 0 and bucket not in with_daily_rollup:
                    continue
                key = (cube, *base, level, bucket, *keys)
                cell = cells[key]
                cell.facts.update(units)
                cell.profiles += 1
                cell.samples += row.samples
                cell.total += sum(units.values())
                mine = per_visit[key][member]
                for id_, value in units.items():
                    mine["x"] += value
                    mine["own", frames[id_][-1]] += value
                    for f in set(frames[id_]):
                        mine["total", f] += value
    for key, members in per_visit.items():
        cells[key].visits = len(members)
        cells[key].moments = _moments(key, members, of_event, machine_of)
    return dict(cells)


def _moments(
    key: Key, members: Mapping[Any, Counter[Any]], of_event: Counter[Any], machine_of: Mapping[Any, int]
) -> dict[str, Any]:
    sums: dict[str, Any] = {"x": 0, "xx": 0, "xxxx": 0, "xe": 0, "functions": defaultdict(lambda: [0] * 9)}
    sums["machines"] = 0
    bits: Counter[Any] = Counter()
    for member, mine in members.items():
        x, event = mine["x"], of_event[member, key[1:4]]
        sums["x"] += x
        sums["xx"] += x**2
        sums["xxxx"] += x**4
        sums["xe"] += x * event
        bit = int(machine_bit(np.array([machine_of[member]]))[0])
        sums["machines"] |= bit
        for f in {f for what, f in (k for k in mine if k != "x") if what == "total"}:
            own, total = mine["own", f], mine["total", f]
            row = sums["functions"][f]
            for i, value in enumerate(
                (1, own, total, own**2, total**2, own * x, total * x, own**4, total**4)
            ):
                row[i] += value
            bits[f] |= bit
    sums["functions"] = {f: (row, bits[f]) for f, row in sums["functions"].items()}
    return sums


def _exposure(
    segments: list[Any], visits: Mapping[UUID, Any], waiting: set[UUID], out: list[UUID]
) -> dict[Key, tuple[int, float]]:
    watched: Counter[Any] = Counter()
    for row in segments:
        if row.sample_type_id is not None:
            watched[row.visit_id, row.sample_type_id, row.stacks] += row.seconds
    exposed: dict[Key, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for (visit_id, sample_type_id, stacks), seconds in watched.items():
        of = visits[visit_id]
        times = (visit_id not in waiting) + out.count(visit_id)
        if times:
            key = (
                of.campaign_id,
                sample_type_id,
                int(stacks),
                of.stratum_id,
                of.hour,
                utilisation_class(of.utilisation),
            )
            n, s = exposed[key]
            exposed[key] = n + times, s + times * seconds
    return dict(exposed)


def stored(engine: Engine) -> tuple[dict[Key, Cell], dict[Key, tuple[int, float]]]:
    """Cells and exposure as they are in the database, in the shape of `expected`."""
    with engine.connect() as connection:
        rows = connection.execute(select(rollup)).all()
        exposed = connection.execute(select(exposure)).all()
    cells: dict[Key, Cell] = {}
    for row in rows:
        ids, units = decode_many([bytes(row.data)], [row.facts])
        cell = Cell(
            Counter(dict(zip(ids.tolist(), units.tolist(), strict=True))),
            row.profiles, row.visits, row.samples, row.total,
        )  # fmt: skip
        if row.moments is not None:
            sums = unpacked_moments.decode([bytes(row.moments)]).in_units()
            assert sums.visits.tolist() == [row.visits]
            columns = [
                c.tolist() for c in (
                    sums.row_visits, sums.own, sums.total, sums.own2, sums.total2, sums.own_x, sums.total_x,
                    sums.own4, sums.total4,
                )
            ]  # fmt: skip
            cell.moments = {
                **{name: float(getattr(sums, name)[0]) for name in ("x", "xx", "xxxx", "xe")},
                "machines": int(sums.machines[0]),
                "functions": {
                    f: (list(values), bits)
                    for f, bits, *values in zip(
                        sums.function.tolist(), sums.row_machines.tolist(), *columns, strict=True
                    )
                },
            }
        key = (
            row.cube, row.campaign_id, int(row.stacks), row.sample_type_id, row.stratum_id, row.utilisation_class,
            row.level, row.bucket, row.k1, row.k2,
        )  # fmt: skip
        cells[key] = cell
    return cells, {
        (e.campaign_id, e.sample_type_id, int(e.stacks), e.stratum_id, e.hour, e.utilisation_class): (
            e.visits,
            e.seconds,
        )
        for e in exposed
    }


def assert_right(engine: Engine, *, bits: bool = True) -> None:
    """Cells and exposure are what the facts say; `bits`: the machines' too, when no visit was taken out."""
    wanted, wanted_exposure = expected(engine)
    there, exposed = stored(engine)
    assert there.keys() == wanted.keys()
    for key, cell in wanted.items():
        found = there[key]
        assert (found.profiles, found.visits, found.samples, found.total) == (
            cell.profiles, cell.visits, cell.samples, cell.total,
        ), key  # fmt: skip
        assert found.facts == cell.facts, key
        assert (found.moments is None) == (cell.moments is None)
        if cell.moments is not None and found.moments is not None:
            _assert_moments(found.moments, cell.moments, bits=bits)
    assert exposed.keys() == wanted_exposure.keys()
    for key, (n, seconds) in wanted_exposure.items():
        assert exposed[key][0] == n
        assert abs(exposed[key][1] - seconds) < 1e-6


def _assert_moments(found: Mapping[str, Any], wanted: Mapping[str, Any], *, bits: bool) -> None:
    for name in ("x", "xx", "xxxx", "xe"):
        assert isclose(found[name], wanted[name], rel_tol=1e-14)
    assert found["functions"].keys() == wanted["functions"].keys()
    for f, (values, mask) in wanted["functions"].items():
        pairs = zip(found["functions"][f][0], values, strict=True)
        assert all(isclose(a, b, rel_tol=1e-14) for a, b in pairs), f
        assert found["functions"][f][1] & mask == mask
        assert not bits or found["functions"][f][1] == mask
    assert found["machines"] & wanted["machines"] == wanted["machines"]


def clear(engine: Engine) -> None:
    """Forget all visits, facts and cells; dictionaries stay."""
    with engine.begin() as connection:
        connection.execute(
            text(
                "TRUNCATE visit, capture_segment, profile, chunk, rollup, rollup_long, rollup_long_built, rollup_day, exposure,"
                " rollup_queue, rollup_retraction, coverage CASCADE"
            )
        )
