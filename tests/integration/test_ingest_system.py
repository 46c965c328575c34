"""The machine's state in the store: the utilisations of the threads of a core, and who takes the rows out again."""

import pytest
from sqlalchemy import Engine, func, select, text

from storage.ingest.ingest import ingest
from storage.ingest.interning import Interner
from storage.retention.history import drop_visits
from storage.schema import capture, capture_cpu, capture_system
from tests.ingested import DAY, archived
from tests.synthetic_captures import SyntheticCapture

pytestmark = pytest.mark.integration

BUSY_OF_CORES = """
    SELECT core_cpu, array_agg(1 - (idle_ms + iowait_ms)::float8
      / (user_ms + system_ms + idle_ms + iowait_ms + irq_ms + steal_ms) ORDER BY cpu)
    FROM capture_cpu JOIN visit USING (visit_id) JOIN machine USING (machine_id)
    WHERE machine.name = 'm' AND visit.hour BETWEEN 0 AND 1000000
    GROUP BY visit_id, core_cpu ORDER BY core_cpu
"""


def test_the_utilisations_of_a_cores_threads_can_be_asked_for(engine: Engine) -> None:
    [visit_id] = archived(engine)
    made = SyntheticCapture(visit_id)
    message = made.message
    for core in (0, 1):
        message.machine.siblings.add(cpus=[core, core + 2])
    message.machine.idle_states.add(name="C1", exit_latency_us=2)
    for cpu, busy in enumerate((1000, 250, 0, 750)):
        message.cpus.add(
            cpu=cpu, core=cpu % 2, user_ms=busy, idle_ms=1000 - busy, mhz=2400.5, idle_state_ms=[1000 - busy]
        )
    message.system.utilisation = 0.5
    message.system.governor = "schedutil"
    message.system.pressure["cpu"] = 12.5
    made.segment({})
    capture_message, resolved = made.finished()
    for generation in (1, 2):
        ingest(engine, Interner(engine), visit_id, generation, capture_message, resolved)
        with engine.connect() as connection:
            assert connection.execute(text(BUSY_OF_CORES)).all() == [(0, [1.0, 0.0]), (1, [0.25, 0.75])]
            [state] = connection.execute(select(capture_system)).all()
            assert (state.utilisation, state.governor, state.seconds) == (0.5, "schedutil", 5.0)
            assert (state.load_1, state.swap_used_bytes, state.smt) == (None, None, None)
            assert state.pressure == {"cpu": {"some": 12.5}}
            assert state.idle_states == {"C1": 2}
            idle = select(capture_cpu.c.idle_state_ms["C1"].as_integer()).where(capture_cpu.c.cpu == 3)
            assert connection.scalar(idle) == 250
    with engine.begin() as connection:
        connection.execute(capture.update().values(blob=""))
        assert drop_visits(connection, DAY.replace(year=DAY.year + 1)) == 1
        for table in (capture_cpu, capture_system):
            assert connection.scalar(select(func.count()).select_from(table)) == 0
