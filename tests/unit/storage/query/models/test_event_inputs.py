"""GIVEN counters of machines WHEN events are mined THEN none of them tells how long it took by another name."""

from storage.query.models.event_inputs import explaining


def test_what_grows_with_time_explains_nothing() -> None:
    counted = [
        ("branch-misses", "count"),
        ("cycles", "cycles"),
        ("energy-cores", "joules"),
        ("energy-package", "joules"),
        ("instructions", "count"),
        ("llc-misses", "count"),
        ("memory-read", "bytes"),
        ("memory-stalls", "cycles"),
        ("pmu:power:energy-pkg", "joules"),
        ("raw:stall", "cycles"),
        ("stalled-backend", "count"),
        ("stalled-frontend", "count"),
        ("user-clock", "nanoseconds"),
    ]
    assert explaining(counted) == ("branch-misses", "llc-misses", "memory-read")


def test_a_counter_that_is_of_time_on_one_platform_is_on_none() -> None:
    assert explaining([("bus", "count"), ("bus", "cycles"), ("loads", "count")]) == ("loads",)
