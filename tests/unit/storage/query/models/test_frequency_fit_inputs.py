"""GIVEN counts of cycles and of CPU time WHEN both are put together THEN a pair is of the same moments, and load of its visit."""

import numpy as np
import pytest

from storage.query.models.frequency_fit_inputs import counted_together, load_of, plausible
from storage.query.observed.counters import Pairs
from storage.query.observed.cpus import Sockets


def pairs(*rows: tuple[int, int, float, float]) -> Pairs:
    """Visit, application, y, x."""
    visit, application, y, x = zip(*rows, strict=True)
    return Pairs(np.array(visit), np.array(application), np.array(y), np.array(x))


def test_only_what_was_counted_with_the_same_instructions_is_a_pair() -> None:
    cycles = pairs(
        (0, 7, 20.0, 10.0),
        (0, 9, 5.0, 4.0),  # no CPU time beside it
        (1, 7, 8.0, 4.0),  # the clock has readings that the cycles have not
        (2, 7, 0.0, 0.0),  # it did not run
        (4, 7, 6.0, 3.0),
    )
    clock = pairs(
        *((0, 7, 9e9, 10.0), (1, 7, 2e9, 5.0), (2, 7, 0.0, 0.0), (4, 7, 3e9, 3.0)),
        (5, 7, 1e9, 1.0),
    )
    found, time = counted_together(cycles, clock)
    assert found.visit.tolist() == time.visit.tolist() == [0, 4]
    assert found.y.tolist() == [20, 6]
    assert time.y.tolist() == [9e9, 3e9]
    assert found.x.tolist() == time.x.tolist() == [10, 3]


@pytest.mark.parametrize(
    ("cycles", "nanoseconds", "instructions", "real"),
    [
        (2e9, 1e9, 1e9, True),
        (1e8, 1e9, 1e9, True),
        (1e10, 1e9, 1e9, True),
        (2e3, 1e6, 1e3, False),  # a millisecond at 2 MHz
        (1e3, 1e9, 1e9, False),  # 1 kHz
        (1e12, 1e9, 1e9, False),  # 1 THz
        (0.0, 1e9, 1e9, False),
        (2e9, 0.0, 1e9, False),
        (2e9, 1e9, 0.0, False),
    ],
)
def test_what_no_clock_can_do_is_left_out(
    cycles: float, nanoseconds: float, instructions: float, real: bool
) -> None:
    good = (2, 9, 3.0, 1.0)
    found, time = counted_together(
        pairs((1, 7, cycles, instructions), good), pairs((1, 7, nanoseconds, instructions), (2, 9, 1.5, 1.0))
    )
    assert plausible(found, time).tolist() == [real, True]


def test_load_is_of_all_cpus_and_of_a_socket() -> None:
    sockets = Sockets(np.array([0, 2, 0]), np.array([2, 3, 2]), np.array([1.5, 1.25, 0.5]))
    found = load_of(sockets, 3)
    assert found[0].tolist() == pytest.approx([0.5, 1.0])
    assert np.isnan(found[1]).all()
    assert found[2].tolist() == pytest.approx([1.25 / 3, 1.25])
