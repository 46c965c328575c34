"""GIVEN a pool whose processes come and go WHEN they count THEN no count is lost, doubled or grows with their number."""

import os
import signal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest

from services.monitoring.shared_counters import CounterFamily, HistogramFamily, SharedCounters

BOUNDS = (0.1, 1.0, 10.0)
FAMILIES = (
    CounterFamily("made", "Made.", "what", ("cups", "other")),
    CounterFamily("plain", "Plain."),
    HistogramFamily("took_seconds", "Took.", "what", ("cups", "plates"), BOUNDS),
)


def samples(tally: SharedCounters) -> dict:
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for metric in tally.collect()
        for sample in metric.samples
    }


def in_child(tally: SharedCounters, slot: int, work) -> int:
    child = os.fork()
    if not child:
        try:
            tally.use_slot(slot)
            work()
        finally:
            os._exit(0)
    return os.waitpid(child, 0)[1]


def test_children_add_to_what_those_before_them_counted():
    tally = SharedCounters(FAMILIES, 2)
    for turn in range(6):
        in_child(tally, turn % 2, lambda: tally.add("made", "cups", 2))
        in_child(tally, turn % 2, lambda: tally.add("plain"))
    found = samples(tally)
    assert found["made_total", ("what", "cups")] == 12
    assert found["plain_total",] == 6
    assert found["made_total", ("what", "other")] == 0


def test_a_child_that_is_killed_leaves_what_it_counted():
    tally = SharedCounters(FAMILIES, 1)

    def work() -> None:
        tally.add("made", "cups")
        os.kill(os.getpid(), signal.SIGKILL)

    assert os.WTERMSIG(in_child(tally, 0, work)) == signal.SIGKILL
    assert samples(tally)["made_total", ("what", "cups")] == 1


def test_a_value_nobody_foresaw_counts_as_the_last_and_a_place_beyond_the_last_is_the_last():
    tally = SharedCounters(FAMILIES, 2)
    tally.use_slot(99)
    tally.add("made", "a stranger's word")
    assert samples(tally)["made_total", ("what", "other")] == 1


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0, 100)), max_size=40))
def test_its_histograms_are_those_of_the_library(times):
    tally = SharedCounters(FAMILIES, 3)
    registry = CollectorRegistry()
    oracle = Histogram("took_seconds", "Took.", ("what",), buckets=BOUNDS, registry=registry)
    for value in ("cups", "plates"):
        oracle.labels(value)
    for slot, seconds in times:
        tally.use_slot(slot)
        tally.observe("took_seconds", "cups", seconds)
        oracle.labels("cups").observe(seconds)
    ours = CollectorRegistry()
    ours.register(SharedCounters((FAMILIES[2],), 1))
    expected = {
        (
            sample.name,
            *sorted((k, f"{float(v):g}" if k == "le" else v) for k, v in sample.labels.items()),
        ): sample.value
        for metric in oracle.collect()
        for sample in metric.samples
        if not sample.name.endswith("_created")
    }
    found = {
        (name, *((k, f"{float(v):g}" if k == "le" else v) for k, v in labels)): value
        for (name, *labels), value in samples(tally).items()
        if name.startswith("took")
    }
    assert found == pytest.approx(expected)
    assert generate_latest(ours).count(b"took_seconds_bucket") == 2 * (len(BOUNDS) + 1)
