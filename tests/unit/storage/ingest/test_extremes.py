"""GIVEN a capture with any figures at all WHEN it is ingested THEN it is accepted and each of its rows fits its columns."""

from datetime import date
from uuid import UUID

import zstandard
from hypothesis import example, given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from storage.ingest.copy_in import encoder
from storage.ingest.counter_rows import counter_rows
from storage.ingest.decode_capture import decode_capture
from storage.ingest.system_rows import cpu_rows, system_rows
from storage.ingest.table_rows import VisitFacts
from storage.ingest.window_rows import segment_rows

VISIT = VisitFacts(UUID(int=1), date(2026, 11, 21), 0, 1, 1, 1, "dc", "", "CPU", "6.1")
OK = capture_pb2.SUPPORT_OK


def numbers(least: int, most: int) -> st.SearchStrategy[int]:
    """Those at the edges of PostgreSQL's types and of the wire's, and others."""
    edges = {
        sign * (1 << bits) + step
        for bits in (0, 15, 16, 31, 32, 63, 64)
        for sign in (1, -1)
        for step in (-1, 0, 1)
    }
    return st.sampled_from(sorted(edge for edge in edges if least <= edge <= most)) | st.integers(least, most)


signed = numbers(-(1 << 31), (1 << 31) - 1)
unsigned = numbers(0, (1 << 32) - 1)
long = numbers(0, (1 << 64) - 1)
doubles = st.floats(allow_nan=True, allow_infinity=True)
cpu_number = st.integers(0, 3)
supports = st.sampled_from(capture_pb2.Support.values())

usages = st.builds(
    capture_pb2.CpuUsage, cpu=cpu_number, core=signed, package=signed, numa_node=signed, user_ms=unsigned,
    system_ms=unsigned, idle_ms=unsigned, iowait_ms=unsigned, irq_ms=unsigned, steal_ms=unsigned, mhz=doubles,
    min_mhz=doubles, max_mhz=doubles, idle_state_ms=st.lists(unsigned, max_size=2),
)  # fmt: skip
counters = st.builds(
    capture_pb2.Counter, name=st.just(1), support=supports, errno=signed, value=long,
    scale=st.floats(0, 2.0**40),
)  # fmt: skip
readings = st.builds(
    capture_pb2.CounterGroup, cpu=signed | cpu_number, time_enabled_ns=long, time_running_ns=long,
    package=st.integers(0, 1 << 12), counters=st.lists(counters, max_size=1),
)  # fmt: skip
segments = st.builds(
    capture_pb2.Segment, event=st.just(1), support=supports, errno=signed, period=long, requested_period=long,
    duration_ns=st.integers(0, 3600 * 10**9), lost=st.lists(long, max_size=3), time_enabled_ns=long,
    time_running_ns=long, throttled=long,
)  # fmt: skip
machines = st.builds(
    capture_pb2.Machine, logical_cpus=unsigned, cores=unsigned, packages=unsigned, numa_nodes=unsigned,
    threads_per_core=unsigned, memory_bytes=long, nominal_mhz=doubles, hardware_min_mhz=doubles,
    hardware_max_mhz=doubles,
    siblings=st.lists(st.builds(capture_pb2.Siblings, cpus=st.lists(unsigned, max_size=2)), max_size=2),
    idle_states=st.lists(st.builds(capture_pb2.IdleState, exit_latency_us=unsigned), max_size=2),
)  # fmt: skip
systems = st.builds(
    capture_pb2.SystemState, utilisation=doubles, load=st.lists(doubles, max_size=3), min_mhz=doubles,
    max_mhz=doubles, memory_available_bytes=long, memory_available_before_bytes=long, swap_used_bytes=long,
    tasks=unsigned, tasks_runnable=unsigned,
)  # fmt: skip
A_SOCKET_OF_2_TO_THE_15 = capture_pb2.Capture(
    cpus=[capture_pb2.CpuUsage(cpu=0, package=1 << 15)],
    counters=[capture_pb2.CounterGroup(counters=[capture_pb2.Counter(name=1, support=OK)])],
)


@example(A_SOCKET_OF_2_TO_THE_15)
@given(
    st.builds(
        capture_pb2.Capture, machine=machines, system=systems, segments=st.lists(segments, max_size=2),
        cpus=st.lists(usages, max_size=4, unique_by=lambda usage: usage.cpu),
        counters=st.lists(readings, max_size=4),
        window=st.builds(capture_pb2.Window, duration_ns=long),
    )
)  # fmt: skip
def test_it_is_accepted_and_fits(made: capture_pb2.Capture) -> None:
    message = capture_pb2.Capture(format=1, visit_id=VISIT.visit_id.bytes, strings=["", "cycles"])
    message.MergeFrom(made)
    capture = decode_capture(zstandard.compress(message.SerializeToString()))
    types = list(range(len(capture.segments)))
    for rows in (
        segment_rows(VISIT, capture, types),
        cpu_rows(VISIT, capture),
        system_rows(VISIT, capture),
        counter_rows(VISIT, capture, []),
    ):
        for row in rows.rows:
            for name, value in zip(rows.columns, row, strict=True):
                column = rows.table.c[name]
                assert value is not None or column.nullable, name
                if value is not None:
                    encoder(column.type)(value)
