"""GIVEN visits WHEN their moments are taken one by one, from cells or by slow loops THEN they are the same."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import moments, variance_form
from analysis.arrays import Float
from analysis.errors import BadShape
from analysis.weights import CLASSES, equal, weigh
from tests.unit.analysis.frames import Made, frame, made

FIELDS = ("y", "x", "vyy", "vxy", "vxx", "second", "fourth", "x_second", "visits", "ingested", "df")


def one_by_one(found: Made) -> moments.Moments:
    visit, row = np.nonzero(found.y)
    return moments.from_visits(
        found.weight,
        found.group,
        found.weights,
        x=found.x,
        row=row,
        visit=visit,
        y=found.y[visit, row],
        rows=found.y.shape[1],
    )


def from_cells(found: Made) -> moments.Moments:
    """As merged cells keep them: per stratum-day and class, in units, without weights."""
    cells, of = np.unique(found.at * CLASSES + found.klass, return_inverse=True)
    rows = found.y.shape[1]

    def summed(values: Float) -> Float:
        result = np.zeros((len(cells), *values.shape[1:]))
        np.add.at(result, of, values)
        return result

    y = summed(found.y)
    cell, row = np.nonzero(y)
    at, klass = np.divmod(cells, CLASSES)
    return moments.from_sums(
        found.weights.weight[at, klass],
        found.weights.group[at, klass],
        found.weights,
        x=summed(found.x),
        xx=summed(found.x**2),
        cell=cell,
        row=row,
        y=y[cell, row],
        yy=summed(found.y**2)[cell, row],
        xy=summed(found.y * found.x[:, None])[cell, row],
        yyyy=summed(found.y**4)[cell, row],
        visits=summed((found.y > 0).astype(float))[cell, row],
        rows=rows,
    )


def by_loops(found: Made, one: Float, other: Float) -> float:
    """The covariance of two weighted sums over visits, straight from the formula."""
    weights, total = found.weights, 0.0
    for stratum, fpc in enumerate(weights.fpc):
        groups = range(stratum * CLASSES, (stratum + 1) * CLASSES)
        ingested = sum(weights.visits[group] for group in groups)
        a, b, within = 0.0, 0.0, 0.0
        between = 0.0
        for group in groups:
            of = found.group == group
            za, zb = (found.weight * one)[of], (found.weight * other)[of]
            n = weights.visits[group]
            a, b = a + za.sum(), b + zb.sum()
            if ingested == 1:
                within += (za * zb).sum()
            elif n > 1:
                within += n / (n - 1) * ((za * zb).sum() - za.sum() * zb.sum() / n)
            if weights.share[group] > 0:
                between += za.sum() * zb.sum() / weights.share[group]
        if ingested > 1:
            within += (between - a * b) / max(weights.drawn[stratum] - 1, 1)
        total += fpc * within
    return total


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60), st.integers(1, 4))
def test_cells_say_what_visits_say(seed: int, visits: int, strata: int) -> None:
    found = made(seed, visits=visits, strata=strata)
    one, other = one_by_one(found), from_cells(found)
    for name in FIELDS:
        whole = max(1e-9, float(np.max(np.abs(getattr(one, name)), initial=0)))
        assert getattr(other, name) == pytest.approx(getattr(one, name), rel=1e-9, abs=1e-9 * whole), name


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60))
def test_a_table_of_all_pairs_and_sorting_those_there_are_add_up_alike(seed: int, visits: int) -> None:
    found = made(seed, visits=visits, strata=2)
    table = one_by_one(found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(variance_form, "_DENSE", 0)
        patch.setattr(variance_form, "_FEW", 0)
        sorted_ = one_by_one(found)
    for name in FIELDS:
        assert np.array_equal(getattr(table, name), getattr(sorted_, name)), name


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60), st.integers(1, 4))
def test_a_part_is_all_visits_with_nothing_in_the_others(seed: int, visits: int, parts: int) -> None:
    found = made(seed, visits=visits, strata=3)
    part = np.random.default_rng(seed).integers(0, parts, len(found.x))
    visit, row = np.nonzero(found.y)
    together = moments.from_visits_in_parts(
        found.weight,
        found.group,
        found.weights,
        part=part,
        parts=parts,
        x=found.x,
        row=row,
        visit=visit,
        y=found.y[visit, row],
        rows=found.y.shape[1],
    )
    for number, of_part in enumerate(together):
        inside = part == number
        alone = one_by_one(replace(found, x=found.x * inside, y=found.y * inside[:, None]))
        for name in FIELDS:
            scale = max(1e-9, float(np.max(np.abs(getattr(alone, name)), initial=0)))
            assert getattr(of_part, name) == pytest.approx(
                getattr(alone, name), rel=1e-9, abs=1e-9 * scale
            ), name


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 30))
def test_the_variance_is_the_formulas(seed: int, visits: int) -> None:
    found = made(seed, visits=visits)
    got = one_by_one(found)
    scale = max(1.0, got.x_second)
    assert got.x == pytest.approx((found.weight * found.x).sum())
    assert got.vxx == pytest.approx(by_loops(found, found.x, found.x), abs=1e-9 * scale)
    for row in range(found.y.shape[1]):
        y = found.y[:, row]
        assert got.y[row] == pytest.approx((found.weight * y).sum())
        assert got.vyy[row] == pytest.approx(by_loops(found, y, y), abs=1e-9 * scale)
        assert got.vxy[row] == pytest.approx(by_loops(found, y, found.x), abs=1e-9 * scale)
        assert got.visits[row] == (y > 0).sum()


def test_in_one_class_it_is_the_variance_of_the_textbook() -> None:
    weights = weigh(frame([(100, {1: (4, 4)})]))
    y = np.array([3.0, 0.0, 5.0])  # and one idle visit, which is not named
    got = moments.from_visits(
        weights.weight[[0, 0, 0], [1, 1, 1]],
        weights.group[[0, 0, 0], [1, 1, 1]],
        weights,
        x=y,
        row=np.zeros(2, np.int64),
        visit=np.array([0, 2]),
        y=y[[0, 2]],
        rows=1,
    )
    w = 100 * 3600 / 20
    expected = 4 * np.var([3 * w, 0, 5 * w, 0], ddof=1) * (1 - 20 / 360_000)
    assert got.vyy == pytest.approx([expected])
    assert got.df == 3


def test_rows_that_are_the_whole_vary_like_it() -> None:
    found = made(5)
    whole = moments.from_visits(
        found.weight,
        found.group,
        found.weights,
        x=found.x,
        row=np.zeros((found.x > 0).sum(), np.int64),
        visit=np.flatnonzero(found.x),
        y=found.x[found.x > 0],
        rows=1,
    )
    assert whole.vyy == pytest.approx([whole.vxx])
    assert whole.vxy == pytest.approx([whole.vxx])


def test_moments_of_different_days_add() -> None:
    parts = [one_by_one(made(seed)) for seed in range(3)]
    a, b, c = parts
    for name in FIELDS:
        assert getattr((a + b) + c, name) == pytest.approx(getattr(a + (b + c), name))
        assert getattr(a + moments.none(4), name) == pytest.approx(getattr(a, name))
    with pytest.raises(BadShape):
        a + moments.none(3)


def test_other_units_scale_everything() -> None:
    found = made(7)
    double = one_by_one(
        type(found)(
            found.frame, found.weights, found.at, found.klass, found.seconds, 2 * found.x, 2 * found.y
        )
    )
    scaled = one_by_one(found).scaled(2)
    for name in FIELDS:
        assert getattr(double, name) == pytest.approx(getattr(scaled, name)), name
    assert scaled.contributing == pytest.approx(one_by_one(found).contributing)


def test_some_rows_are_those_rows() -> None:
    got = one_by_one(made(8))
    picked = got.of(np.array([2, 0]))
    assert picked.vyy.tolist() == got.vyy[[2, 0]].tolist()
    assert picked.x == got.x


def test_contributing_visits_are_counted_by_what_they_bring() -> None:
    weights = equal(np.array([10.0]))
    visit = np.arange(10)
    got = moments.from_visits(
        np.ones(10),
        np.zeros(10, np.int64),
        weights,
        x=np.full(10, 100.0),
        row=np.concatenate([np.zeros(10, np.int64), np.ones(10, np.int64)]),
        visit=np.concatenate([visit, visit]),
        y=np.concatenate([np.full(10, 7.0), [1e6, *[1.0] * 9]]),
        rows=3,
    )
    assert got.contributing == pytest.approx([10, 1, 0], abs=1e-3)
    assert got.effective_visits == pytest.approx(10)


def test_shapes_that_do_not_fit_are_refused() -> None:
    weights = equal(np.array([2.0]))
    nothing = np.zeros(0, np.int64)
    with pytest.raises(BadShape):
        moments.from_visits(
            np.ones(2), nothing, weights, x=np.ones(2), row=nothing, visit=nothing, y=np.zeros(0), rows=1
        )
