"""GIVEN logical CPUs of visits WHEN the database adds them up by socket THEN load is that of the CPUs one by one."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import Connection, Engine, insert

from analysis.arrays import Float
from storage.query.estimation.sampling_design import Coverage
from storage.query.models.frequency_fit_inputs import load_of
from storage.query.observed.cpus import LogicalCpus, Sockets, read_cpus, read_sockets
from storage.query.observed.machines import MachineVisits
from storage.query.selections.selection import Selection
from storage.schema import capture_cpu
from tests.fact_writer import FactWriter

pytestmark = pytest.mark.integration

DAY = datetime(2026, 11, 17, 9, tzinfo=UTC)
WHOLE = Selection(DAY, DAY + timedelta(days=2))
VISITS, KNOWN = 30, 25
"""The last ones are none of the selection's."""
MOST = (1 << 31) - 1


def one_by_one(cpus: LogicalCpus, visits: int) -> Float:
    """The load of each visit, by its logical CPUs."""
    found = np.full((visits, 2), np.nan)
    for place in np.unique(cpus.visit).tolist():
        mine = cpus.of(cpus.visit == place)
        busy = sum(b / w for b, w in zip(mine.busy_s, mine.window_s, strict=True) if w > 0)
        found[place] = busy / len(mine), busy / len(np.unique(mine.package))
    return found


def visits_of(ids: list[bytes]) -> MachineVisits:
    none = np.zeros(len(ids))
    return MachineVisits(
        id=np.sort(np.array(ids, "S16")),
        seconds=none,
        window_s=none,
        hour=none.astype(np.int64),
        weight=none,
        group=none.astype(np.int64),
        weights=None,
        coverage=Coverage(random=False, selected_s=0.0, ingested=len(ids)),
        values={},
        names={},
        among=(),
    )


def insert_cpus(connection: Connection, visit_id: object, day: date, rng: np.random.Generator) -> None:
    packages = rng.integers(0, 4)  # 0: not known
    rows = [
        {
            "visit_id": visit_id,
            "cpu": cpu,
            "day": day,
            "package": None if packages == 0 else int(rng.integers(packages)),
            **{
                f"{name}_ms": int(rng.integers(5000)) if rng.random() < 0.7 else 0
                for name in ("user", "system", "idle", "iowait", "irq", "steal")
            },
        }
        for cpu in range(int(rng.integers(1, 17)))
    ]
    rows[0] |= dict.fromkeys(("user_ms", "system_ms", "irq_ms", "idle_ms", "iowait_ms", "steal_ms"), 0)
    connection.execute(insert(capture_cpu), rows)


def test_sockets_have_the_load_of_their_cpus(engine: Engine) -> None:
    rng = np.random.default_rng(3)
    with engine.begin() as connection:
        facts = FactWriter(connection)
        ids = []
        for n in range(VISITS):
            visit = facts.visit("m", DAY + timedelta(hours=n))
            insert_cpus(connection, visit.id, visit.drawn_at.date(), rng)
            ids.append(visit.id.bytes)
        ids.append(facts.visit("m", DAY).id.bytes)  # of which no CPU is known
        visits = visits_of([*ids[:KNOWN], ids[-1]])
        expected = one_by_one(read_cpus(connection, WHOLE, visits), len(visits))
        sockets = read_sockets(connection, WHOLE, visits)
    np.testing.assert_allclose(load_of(sockets, len(visits)), expected, rtol=1e-12)
    assert np.isnan(expected).any(axis=1).sum() == 1
    assert len(sockets.visit) > KNOWN


def test_counters_at_their_end_are_added_up(engine: Engine) -> None:
    with engine.begin() as connection:
        visit = FactWriter(connection).visit("m", DAY)
        times = dict.fromkeys(("user_ms", "system_ms", "irq_ms", "idle_ms", "iowait_ms", "steal_ms"), MOST)
        connection.execute(
            insert(capture_cpu).values(visit_id=visit.id, cpu=0, day=visit.drawn_at.date(), **times)
        )
        found: Sockets = read_sockets(connection, WHOLE, visits_of([visit.id.bytes]))
    assert (found.cpus.tolist(), found.busy.tolist()) == ([1], [0.5])
