"""The machine's state as rows: what the wire leaves at 0 for not known must not become a figure."""

import json
from datetime import date
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from storage.ingest.copy_in import encoder
from storage.ingest.system_rows import cpu_rows, system_rows
from storage.ingest.table_rows import TableRows, VisitFacts

VISIT = VisitFacts(UUID(int=1), date(2026, 11, 21), 0, 1, 1, 1, "dc", "", "CPU", "6.1")


def table(rows: TableRows) -> list[dict[str, object]]:
    return [dict(zip(rows.columns, row, strict=True)) for row in rows.rows]


def test_threads_of_a_core_share_its_lowest_cpu() -> None:
    capture = capture_pb2.Capture()
    capture.machine.siblings.add(cpus=[0, 4])
    capture.machine.siblings.add(cpus=[5, 1])
    capture.machine.siblings.add()
    for cpu in (0, 1, 2, 4, 5):
        capture.cpus.add(cpu=cpu, core=cpu % 4, package=0, numa_node=0)
    capture.cpus.add(cpu=9, core=-1, package=-1, numa_node=-1)
    rows = table(cpu_rows(VISIT, capture))
    assert [(row["cpu"], row["core_cpu"]) for row in rows] == [
        (0, 0),
        (1, 1),
        (2, 2),
        (4, 0),
        (5, 1),
        (9, None),
    ]


def test_without_a_list_of_siblings_the_cores_numbers_count_if_cores_have_threads() -> None:
    capture = capture_pb2.Capture()
    for cpu in range(8):
        capture.cpus.add(cpu=cpu, core=cpu % 2, package=cpu // 4, numa_node=0)
    assert [row["core_cpu"] for row in table(cpu_rows(VISIT, capture))] == list(range(8))
    capture.machine.threads_per_core = 2
    assert [row["core_cpu"] for row in table(cpu_rows(VISIT, capture))] == [0, 1, 0, 1, 4, 5, 4, 5]


def test_idle_states_are_by_name_also_where_two_have_the_same() -> None:
    capture = capture_pb2.Capture()
    for name in ("POLL", "C1", "C1"):
        capture.machine.idle_states.add(name=name)
    capture.cpus.add(cpu=0, idle_state_ms=[1, 2, 3])
    capture.cpus.add(cpu=1, idle_state_ms=[1, 2])
    assert [row["idle_state_ms"] for row in table(cpu_rows(VISIT, capture))] == [
        {"POLL": 1, "C1": 2, "C1#2": 3},
        None,
    ]


def test_a_capture_that_says_nothing_of_its_system_has_no_row() -> None:
    assert system_rows(VISIT, capture_pb2.Capture()).rows == []


def test_what_is_not_known_is_null() -> None:
    capture = capture_pb2.Capture(system=capture_pb2.SystemState())
    [row] = table(system_rows(VISIT, capture))
    assert {name for name, value in row.items() if value is not None} == {"visit_id", "day"}


def test_an_idle_machine_has_a_utilisation_of_0_and_no_swap_in_use() -> None:
    capture = capture_pb2.Capture(system=capture_pb2.SystemState(memory_available_bytes=1))
    capture.cpus.add(cpu=0, idle_ms=5000)
    [row] = table(system_rows(VISIT, capture))
    assert (row["utilisation"], row["swap_used_bytes"]) == (0, 0)


def test_pressure_is_by_resource() -> None:
    state = capture_pb2.SystemState(
        pressure={"cpu": 2.5, "io": float("nan")},
        pressure_full={"memory": 1.0, "irq": 0.5},
        stalled_us={"cpu": 123},
    )
    [row] = table(system_rows(VISIT, capture_pb2.Capture(system=state)))
    assert row["pressure"] == {"cpu": {"some": 2.5}, "memory": {"full": 1.0}, "irq": {"full": 0.5}}
    assert row["stalled_us"] == {"cpu": 123}


doubles = st.floats(allow_nan=True, allow_infinity=True)
counts = st.integers(0, (1 << 32) - 1)
sizes = st.integers(0, (1 << 64) - 1)
names = st.dictionaries(st.text(max_size=300), doubles, max_size=3)


@given(
    machine=st.builds(
        capture_pb2.Machine,
        logical_cpus=counts,
        threads_per_core=counts,
        memory_bytes=sizes,
        nominal_mhz=doubles,
        boot_id=st.text(max_size=300),
    ),
    state=st.builds(
        capture_pb2.SystemState,
        utilisation=doubles,
        load=st.lists(doubles, max_size=5),
        pressure=names,
        stalled_us=st.dictionaries(st.text(max_size=300), sizes, max_size=3),
        memory_available_bytes=sizes,
        swap_used_bytes=sizes,
        tasks=counts,
        governor=st.text(max_size=300),
    ),
    cpu=st.builds(capture_pb2.CpuUsage, cpu=st.integers(0, 1 << 20), user_ms=counts, mhz=doubles),
)
def test_whatever_a_gateway_claims_fits_the_columns(
    machine: capture_pb2.Machine, state: capture_pb2.SystemState, cpu: capture_pb2.CpuUsage
) -> None:
    capture = capture_pb2.Capture(machine=machine, system=state, cpus=[cpu])
    for rows in (cpu_rows(VISIT, capture), system_rows(VISIT, capture)):
        for row in rows.rows:
            for name, value in zip(rows.columns, row, strict=True):
                if value is not None:
                    encoder(rows.table.c[name].type)(value)
                if isinstance(value, dict):
                    json.dumps(value, allow_nan=False)  # raises ValueError for what is no JSON
                    assert "\\u0000" not in json.dumps(value)


@pytest.mark.parametrize("load", [[], [1.0], [1.0, 2.0, 3.0, 4.0]])
def test_a_load_of_any_length(load: list[float]) -> None:
    [row] = table(system_rows(VISIT, capture_pb2.Capture(system=capture_pb2.SystemState(load=load))))
    assert [row["load_1"], row["load_5"], row["load_15"]] == (load + [None] * 3)[:3]
