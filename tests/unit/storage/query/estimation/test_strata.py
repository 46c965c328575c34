"""Strata, classes and weights' frames, without a database."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from storage.coverage import utilisation_class
from storage.query.estimation.strata import NOT_KNOWN, Strata, class_of


@given(st.lists(st.one_of(st.none(), st.floats(0, 1.5), st.just(float("nan"))), max_size=20))
def test_a_class_is_what_the_coverage_counts_it_as(utilisation: list[float | None]):
    given_ = np.array([NOT_KNOWN if u is None else u for u in utilisation])
    assert class_of(given_).tolist() == [1 + utilisation_class(u) for u in utilisation]


def strata() -> Strata:
    return Strata(
        stratum=np.array([3, 7, 3]),
        day=np.array([100, 100, 101]),
        population=np.array([10.0, 5.0, 10.0]),
        covered_s=np.array([3600.0, 3600.0, 60.0]),
        drawn=np.zeros((3, 5)),
        selected_s=7200.0,
        total_covered_s=3660.0,
        machines=14.9,
        alike=np.array([3, 3, 3]),
    )


def test_a_row_is_found_by_stratum_and_day():
    rows = strata().row(np.array([3, 7, 3, 7, 4]), np.array([101, 100, 100, 101, 100]))
    assert rows.tolist() == [2, 1, 0, -1, -1]


def test_days_have_the_seconds_that_each_of_their_strata_has():
    of = strata().seconds_of
    assert of(np.array([100])) == 3600
    assert of(np.array([101])) == 60
    assert of(np.array([], np.int64)) == 0
    assert of(np.array([100, 101])) == 3660


def test_a_frame_adds_up_what_ingested():
    frame = strata().frame(
        np.array([0, 0, 2]), np.array([1, 1, 0]), np.array([1.0, 2.0, -1.0]), np.array([5.0, 10.0, -5.0])
    )
    assert frame.visits[0].tolist() == [0, 3, 0, 0, 0]
    assert frame.watched_s[0].tolist() == [0, 15, 0, 0, 0]
    assert frame.alike is not None
    assert frame.alike.tolist() == [3, 3, 3]
    assert (frame.visits[2, 0], frame.watched_s[2, 0]) == (-1, -5), "what a cell has too much"
