"""Readings of a capture become rows whose sums can be divided: nothing counted twice, nothing invented."""

import math
from datetime import date
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from storage.ingest.counter_rows import counter_rows, is_scale, scaled, watched_s
from storage.ingest.table_rows import VisitFacts

VISIT = VisitFacts(UUID(int=1), date(2026, 1, 1), 0, 1, 1, 1, "", "", "", "")
OK = capture_pb2.SUPPORT_OK


class Made:
    """A capture with counters, its rows as dicts."""

    def __init__(self) -> None:
        self.capture = capture_pb2.Capture(strings=[""])

    def text(self, value: str) -> int:
        strings = self.capture.strings
        if value not in strings:
            strings.append(value)
        return list(strings).index(value)

    def reading(self, counts: dict[str, int], enabled: int = 10, running: int = 10, **place: int):
        reading = self.capture.counters.add(time_enabled_ns=enabled, time_running_ns=running, **place)
        for name, value in counts.items():
            reading.counters.add(name=self.text(name), support=OK, value=value)
        return reading

    def group(self, cgroup: str) -> None:
        self.capture.groups.add(cgroup=self.text(cgroup))

    def rows(self, *applications: int) -> list[dict[str, object]]:
        made = counter_rows(VISIT, self.capture, applications)
        return [dict(zip(made.columns, row, strict=True)) for row in made.rows]


def test_the_cpus_of_a_socket_are_added_up_and_sockets_kept_apart():
    made = Made()
    for cpu, package in enumerate((0, 0, 1)):
        made.capture.cpus.add(cpu=cpu, package=package)
        made.reading({"cycles": 10 * cpu + 1, "instructions": 5}, cpu=cpu)
    rows = made.rows()
    assert [(r["reading"], r["name"], r["package"], r["cpus"], r["value"], r["scaled"]) for r in rows] == [
        (0, "cycles", 0, 2, 12, 12.0), (0, "instructions", 0, 2, 10, 10.0),
        (1, "cycles", 1, 1, 21, 21.0), (1, "instructions", 1, 1, 5, 5.0),
    ]  # fmt: skip


def test_a_counter_that_failed_on_one_cpu_has_no_sum_of_the_others():
    made = Made()
    made.reading({"cycles": 7}, cpu=0)
    busy = made.capture.counters.add(cpu=1)
    busy.counters.add(name=made.text("cycles"), support=capture_pb2.SUPPORT_BUSY, errno=16, value=99)
    never = made.reading({"cycles": 0}, enabled=10, running=0, cpu=2)
    assert never.counters[0].support == OK, "a gateway that errs"
    assert [(r["status"], r["errno"], r["value"], r["scaled"], r["cpus"]) for r in made.rows()] == [
        ("busy", 16, None, None, 3)
    ]


def test_a_counter_that_opens_and_never_counts_on_one_cpu_has_no_sum_either():
    made = Made()
    made.reading({"cycles": 7, "instructions": 9}, cpu=0)
    made.reading({"cycles": 7}, running=0, cpu=1)
    made.reading({"cycles": 3}, cpu=-1, cgroup=made.text("/pods/a"))
    assert {(r["name"], r["cgroup"]): (r["status"], r["value"]) for r in made.rows()} == {
        ("cycles", ""): ("not_counted", None), ("instructions", ""): ("ok", 9), ("cycles", "/pods/a"): ("ok", 3),
    }  # fmt: skip


def test_a_counter_refused_for_the_whole_machine_has_no_sum_of_some_cpus():
    made = Made()
    made.reading({"cycles": 7}, cpu=0)
    made.capture.counters.add(cpu=-1).counters.add(
        name=made.text("cycles"), support=capture_pb2.SUPPORT_DENIED, errno=24
    )
    assert {(r["status"], r["errno"], r["value"]) for r in made.rows()} == {("denied", 24, None)}


def test_a_control_group_has_the_application_that_ran_alone_in_it():
    made = Made()
    for path in ("/pods/a/main", "/pods/a/side", "/pods/b", "/pods/ab"):
        made.group(path)
    for path in ("/pods/a", "/pods/b", "/pods/a/main", "/gone"):
        made.reading({"cycles": 1}, cpu=-1, cgroup=made.text(path))
    # Both containers of pod a are of application 5; b is of 6; ab begins like a and is none of its.
    rows = made.rows(5, 5, 6, 7)
    assert {r["cgroup"]: r["application"] for r in rows} == {
        "/pods/a": 5, "/pods/b": 6, "/pods/a/main": 5, "/gone": 0,
    }  # fmt: skip
    assert {r["cgroup"]: r["application"] for r in made.rows(5, 8, 6, 7)}["/pods/a"] == 0


def test_scale_and_unit_are_the_kernels():
    made = Made()
    reading = made.reading({"energy-package": 1 << 32}, cpu=-1, package=2)
    reading.counters[0].scale = 2.0**-32
    reading.counters[0].unit = made.text("joules")
    reading.counters[0].source = made.text("power/energy-pkg/")
    (row,) = made.rows()
    assert (row["package"], row["value"], row["scaled"], row["unit"]) == (1, 1 << 32, 1.0, "joules")
    assert row["source"] == "power/energy-pkg/"


def test_names_that_become_one_are_one_row():
    """Strings of a capture may repeat, and what is too long of a name is not kept."""
    made = Made()
    made.capture.strings.extend(["cycles", "cycles"])
    reading = made.capture.counters.add(cpu=0, time_enabled_ns=1, time_running_ns=1)
    reading.counters.add(name=1, support=OK, value=3)
    reading.counters.add(name=2, support=OK, value=5)
    assert [(row["name"], row["value"]) for row in made.rows()] == [("cycles", 3)]


counts = st.integers(0, 1 << 50)
times = st.integers(1, 1 << 40)


@given(counts, times, times)
def test_what_took_turns_is_scaled_by_its_share_of_the_time(value: int, running: int, more: int):
    enabled = running + more
    assert math.isclose(scaled(value, enabled, running, 1.0), value * enabled / running, rel_tol=1e-12)
    assert scaled(value, running, running, 1.0) == value
    assert scaled(value, enabled, running, 1.0) >= value


@given(st.lists(times, min_size=1, max_size=20), st.integers(0, 10**6))
def test_a_steady_event_is_estimated_exactly_whatever_the_turns(turns: list[int], rate: int):
    """It counts `rate` a nanosecond while it runs, and every second turn is another's."""
    running = sum(turns)
    assert math.isclose(scaled(rate * running, 2 * running, running, 1.0), rate * 2 * running)


@given(st.lists(st.tuples(counts, counts, times, times), min_size=1, max_size=8))
def test_the_rows_ratio_is_that_of_the_sums_of_what_each_cpu_counted(readings):
    made = Made()
    for cpu, (cycles, instructions, running, more) in enumerate(readings):
        made.reading({"cycles": cycles, "instructions": instructions}, running + more, running, cpu=cpu)
    cycles, instructions = made.rows()
    share = [(r + m) / r for _, _, r, m in readings]
    assert math.isclose(
        cycles["scaled"], sum(c * s for (c, *_), s in zip(readings, share, strict=True)), rel_tol=1e-9
    )
    assert instructions["value"] == sum(i for _, i, *_ in readings)
    assert cycles["cpus"] == len(readings)
    assert cycles["time_running_ns"] == sum(r for *_, r, _ in readings)


@given(st.integers(0, 1 << 40), times, times, counts, st.lists(st.integers(0, 1 << 40), max_size=4))
def test_a_segment_watched_for_the_part_of_it_that_was_counted_and_kept(
    duration: int, running: int, more: int, samples: int, lost: list[int]
):
    segment = capture_pb2.Segment(
        duration_ns=duration,
        samples=samples,
        lost=lost,
        time_enabled_ns=running + more,
        time_running_ns=running,
    )
    kept = samples / (samples + sum(lost)) if sum(lost) else 1
    assert math.isclose(watched_s(segment), duration / 1e9 * running / (running + more) * kept, rel_tol=1e-9)
    assert watched_s(segment) <= duration / 1e9
    assert watched_s(capture_pb2.Segment(duration_ns=duration)) == duration / 1e9


def test_a_scale_that_is_no_number_is_none():
    assert is_scale(0.0)
    assert is_scale(2.0**-32)
    assert not any(map(is_scale, (math.inf, math.nan, -1.0, 1e300)))
