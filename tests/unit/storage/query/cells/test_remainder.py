"""GIVEN what visits brought to rows WHEN only moments are known THEN the remainder looks no surer than its visits make it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.arrays import Float, Int
from analysis.moments import Moments, from_visits
from storage.query.cells.step_moments import remainder
from tests.unit.analysis.frames import Made, made


def moments(found: Made, y: Float) -> Moments:
    """Of rows to which the visits brought so much; (visits, rows)."""
    visit, row = np.nonzero(y)
    return from_visits(
        found.weight,
        found.group,
        found.weights,
        x=found.x,
        row=row,
        visit=visit,
        y=y[visit, row],
        rows=y.shape[1],
    )


def both(found: Made) -> tuple[Moments, Moments]:
    """The remainder out of moments alone, and visit by visit."""
    rest = found.x - found.y.sum(axis=1)
    return (
        remainder(moments(found, found.x[:, None]), moments(found, found.y)),
        moments(found, rest[:, None]),
    )


def only(found: Made, visits: Int) -> Made:
    """Nobody but these visits has anything of the remainder."""
    y = found.y.copy()
    y[:, 0] += found.x - y.sum(axis=1)
    y[visits] = np.floor(y[visits] / 2)
    return replace(found, y=y)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60), st.integers(1, 5), st.integers(0, 3))
def test_it_varies_at_least_as_much_and_of_at_most_as_many_visits(
    seed: int, visits: int, rows: int, having: int
) -> None:
    """Of all visits, or of one to three alone."""
    found = made(seed, visits=visits, rows=rows)
    if having:
        found = only(found, np.arange(min(having, len(found.x))))
    bound, exact = both(found)
    whole = float(found.weight @ found.x)
    assert bound.y == pytest.approx(exact.y, abs=1e-9 * whole)
    assert bound.vxy == pytest.approx(exact.vxy, rel=1e-9, abs=1e-9 * whole**2)
    assert bound.vyy[0] >= exact.vyy[0] - 1e-9 * whole**2
    if exact.y[0] > 0:
        assert 1 - 1e-9 <= bound.contributing[0] <= exact.contributing[0] * (1 + 1e-9)


def test_one_visit_alone_is_one() -> None:
    bound, exact = both(only(made(3, visits=80, strata=1, days=1, idle=0), np.array([7])))
    assert exact.contributing == pytest.approx([1])
    assert bound.contributing == pytest.approx([1])


def test_what_most_visits_have_most_of_is_not_of_a_few() -> None:
    found = made(3, visits=80, strata=1, days=1, idle=0)
    bound, exact = both(replace(found, y=np.floor(found.x[:, None] * [[0.05, 0.02]])))
    assert exact.contributing[0] > bound.contributing[0] > 20
