"""GIVEN counters or utilisations of two threads WHEN a core's states are asked THEN they add up and say the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.errors import BadShape, Contradictory, InsufficientData, NotANumber
from analysis.smt.states import (
    SKEW,
    from_cycles,
    from_sums,
    from_utilisation,
    joined,
    largest_disagreement,
)

share = st.floats(0, 1)


@settings(deadline=None)
@given(share, share)
def test_states_of_independent_threads(u0: float, u1: float) -> None:
    found = from_utilisation(u0, u1)
    assert found.overlap + found.alone + found.idle == pytest.approx([1])
    assert found.utilisation == pytest.approx([(u0 + u1) / 2])
    assert found.thread_any == pytest.approx([1 - (1 - u0) * (1 - u1)])


@settings(deadline=None)
@given(share, share, share)
def test_states_of_counters(overlap: float, alone: float, split: float) -> None:
    """From states to the counters they would show, and back."""
    whole = max(overlap + alone, 1e-9)
    overlap, alone = overlap / max(whole, 1), alone / max(whole, 1)
    available = 3e9
    thread0, thread1 = overlap + alone * split, overlap + alone * (1 - split)
    found = from_cycles(thread0 * available, thread1 * available, (overlap + alone) * available, available)
    assert found.overlap == pytest.approx([overlap], abs=1e-9)
    assert found.alone == pytest.approx([alone], abs=1e-9)
    assert found.idle == pytest.approx([1 - overlap - alone], abs=1e-9)


def test_independent_threads_look_the_same_both_ways() -> None:
    """DIGEST A3's check against A2, with threads that are busy independently of each other."""
    rng = np.random.default_rng(0)
    busy = rng.random((2, 8, 20_000)) < rng.random((2, 8, 1))
    counted = from_cycles(
        busy[0].sum(axis=1), busy[1].sum(axis=1), (busy[0] | busy[1]).sum(axis=1), np.full(8, 20_000)
    )
    system = from_utilisation(busy[0].mean(axis=1), busy[1].mean(axis=1))
    assert largest_disagreement(counted, system) < 0.02


def test_threads_that_wait_for_each_other_do_not() -> None:
    """Never busy together: the operating system's way sees an overlap that is not there."""
    counted = from_cycles(500, 500, 1000, 1000)
    assert largest_disagreement(counted, from_utilisation(0.5, 0.5)) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("cycles", "error"),
    [
        ((900, 100, 800, 1000), Contradictory),
        ((300, 300, 700, 1000), Contradictory),
        ((900, 900, 1200, 1000), Contradictory),
        ((np.nan, 1, 1, 10), NotANumber),
        ((-1, 1, 1, 10), NotANumber),
        ((1, 1, 1, 0), NotANumber),
    ],
)
def test_counters_that_cannot_be(cycles: tuple[float, float, float, float], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_cycles(*cycles)


def test_counters_read_one_after_another_may_differ_a_little() -> None:
    found = from_cycles(1003, 500, 1001, 1000)
    assert found.idle == pytest.approx([0])
    assert found.thread_any == pytest.approx([1])


def test_cores_need_the_same_readings() -> None:
    with pytest.raises(BadShape):
        from_utilisation([0.5, 0.5], [0.5])
    with pytest.raises(InsufficientData):
        from_utilisation([], [])
    with pytest.raises(NotANumber):
        from_utilisation([1.2], [0.5])
    with pytest.raises(BadShape):
        largest_disagreement(from_utilisation([0.1], [0.2]), from_utilisation([0.1, 0.1], [0.2, 0.2]))


@settings(deadline=None)
@given(st.lists(st.tuples(share, share, share), min_size=1, max_size=8))
def test_sums_over_cores_are_the_mean_of_their_states(cores: list[tuple[float, float, float]]) -> None:
    u0, u1, part = (np.array(column) for column in zip(*cores, strict=True))
    least = np.maximum(0, u0 + u1 - 1)
    overlap = least + part * (np.minimum(u0, u1) - least)
    each = from_cycles(u0, u1, u0 + u1 - overlap, np.ones(len(cores)))
    found = from_sums((u0 + u1).sum(), (u0 + u1 - overlap).sum(), float(len(cores)))
    for name in ("overlap", "alone", "idle"):
        assert getattr(found, name)[0] == pytest.approx(getattr(each, name).mean(), abs=1e-9)


@pytest.mark.parametrize(
    ("sums", "said"),
    [
        ((10, 12, 100), "longer than their threads"),
        ((90, 40, 100), "twice"),
        ((150, 110, 100), "than the available time"),
    ],
)
def test_sums_that_cannot_be(sums: tuple[float, float, float], said: str) -> None:
    with pytest.raises(Contradictory, match=said):
        from_sums(*sums)
    slack = from_sums(*sums, skew=0.2)
    assert (slack.overlap + slack.alone + slack.idle)[0] == pytest.approx(1)
    assert (slack.overlap >= 0).all()
    assert (slack.alone >= 0).all()


def test_sums_may_be_off_by_what_reading_takes() -> None:
    off = 100 * SKEW * 0.99
    assert from_sums(50, 50 + off, 100).overlap[0] == 0
    with pytest.raises(NotANumber):
        from_sums(np.nan, 1, 1)
    with pytest.raises(BadShape):
        from_sums([1, 1], [1], [2])


def test_states_are_joined_in_order() -> None:
    one, two = from_utilisation([0.1, 0.2], [0.3, 0.4]), from_utilisation([0.5], [0.6])
    assert joined([one, two]).overlap == pytest.approx([0.03, 0.08, 0.3])
