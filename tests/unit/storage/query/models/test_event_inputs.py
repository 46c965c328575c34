"""GIVEN counters of machines WHEN events are mined THEN none of them tells how long it took by another name."""

import numpy as np
import pytest

from storage.query.estimation.sampling_design import Coverage
from storage.query.models.event_inputs import _parameters, explaining
from storage.query.observed.machines import MachineVisits


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


def visits(count: int) -> MachineVisits:
    """Of machines that are all alike."""
    zeros = np.zeros(count, np.int64)
    return MachineVisits(
        id=np.array([n.to_bytes(2) * 8 for n in range(1, count + 1)], "S16"),
        seconds=np.full(count, 10.0),
        window_s=np.full(count, 10.0),
        hour=zeros,
        weight=np.ones(count),
        group=zeros,
        weights=None,
        coverage=Coverage(random=False, selected_s=10.0),
        values=dict.fromkeys(("machine", "platform", "datacenter", "cluster", "kernel"), zeros),
        names={},
        among=(),
    )


NAN = float("nan")


@pytest.mark.parametrize(
    ("mhz", "found"),
    [
        ([NAN, 2400.0, NAN, 2400.0], None),
        ([NAN, NAN, NAN, NAN], None),
        ([NAN, 2390.0, NAN, 2410.0], None),
        ([NAN, 2400.0, 2500.0, 2400.0], [NAN, 2400.0, 2500.0, 2400.0]),
        ([2390.0, 2400.0, 2520.0, 2400.0], [2400.0, 2400.0, 2500.0, 2400.0]),
    ],
)
def test_a_frequency_that_was_not_measured_is_not_one_that_was_set(
    mhz: list[float], found: list[float] | None
) -> None:
    parameters = _parameters(visits(4), {}, np.array(mhz))
    assert set(parameters) == (set() if found is None else {"frequency"})
    if found is not None:
        np.testing.assert_array_equal(parameters["frequency"], found)


def test_a_setting_that_was_not_read_is_none() -> None:
    alike = _parameters(visits(3), {"governor": ("", "performance", "performance")}, np.full(3, NAN))
    assert alike == {}
    other = _parameters(visits(3), {"governor": ("", "performance", "powersave")}, np.full(3, NAN))
    assert np.isnan(other["governor"]).tolist() == [True, False, False]
    assert other["governor"][1] != other["governor"][2]
