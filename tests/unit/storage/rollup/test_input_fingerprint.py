"""Fingerprints of days: equal for the same cells and weights, whatever else was read with them, and no others."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.query.estimation.strata import Strata
from storage.rollup.input_fingerprint import of_bucket, of_days
from storage.rollup.read_cells import Exposure

DAYS = np.array([8, 8, 9, 11])
STRATA = Strata(
    stratum=np.array([1, 2, 1, 2]),
    day=DAYS,
    population=np.array([100.0, 20.5, 100.0, 7.0]),
    covered_s=np.array([86_400.0, 86_400.0, 600.1, 3_600.0]),
    drawn=np.arange(20.0).reshape(4, 5),
    selected_s=1.0,
    total_covered_s=1.0,
    machines=1.0,
    alike=np.array([1, 1, 1, 1]),
)
WATCHED = Exposure(
    stratum=np.array([1, 2, 1, 2]),
    day=DAYS,
    utilisation_class=np.array([-1, 0, 3, 3]),
    visits=np.array([3, 4, 5, 6]),
    seconds=np.array([15.0, 19.25, 25.1, 30.3]),
)
CHANGES = {8: 1, 9: 3, 11: 1}
MADE = of_bucket(of_days(STRATA, WATCHED, CHANGES), (1, 2))


def later(column: np.ndarray, place: int) -> np.ndarray:
    changed = column.copy()
    changed[place] += 1
    return changed


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("name", ["stratum", "population", "covered_s", "drawn", "alike"])
def test_another_design_is_another_fingerprint(name: str, place: int) -> None:
    strata = replace(STRATA, **{name: later(getattr(STRATA, name), place)})
    assert of_bucket(of_days(strata, WATCHED, CHANGES), (1, 2)) != MADE


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("name", ["stratum", "utilisation_class", "visits", "seconds"])
def test_another_exposure_is_another_fingerprint(name: str, place: int) -> None:
    watched = replace(WATCHED, **{name: later(getattr(WATCHED, name), place)})
    assert of_bucket(of_days(STRATA, watched, CHANGES), (1, 2)) != MADE


@pytest.mark.parametrize("day", CHANGES)
def test_cells_that_were_written_again_are_another_fingerprint(day: int) -> None:
    assert of_bucket(of_days(STRATA, WATCHED, CHANGES | {day: 9}), (1, 2)) != MADE


def test_rows_that_go_are_another_fingerprint() -> None:
    fewer = Exposure(*(getattr(WATCHED, name)[1:] for name in Exposure.__slots__))
    assert of_bucket(of_days(STRATA, fewer, CHANGES), (1, 2)) != MADE


@given(st.permutations(range(4)), st.lists(st.floats(-1e-9, 1e-9), min_size=4, max_size=4))
def test_neither_the_order_of_rows_nor_last_bits_of_sums_count(order: list[int], errors: list[float]) -> None:
    watched = Exposure(*(getattr(WATCHED, name)[order] for name in Exposure.__slots__))
    watched = replace(watched, seconds=watched.seconds * (1 + np.array(errors) * 1e-4))
    assert of_bucket(of_days(STRATA, watched, CHANGES), (1, 2)) == MADE


def test_other_days_do_not_count() -> None:
    beside = Exposure(*(np.append(getattr(WATCHED, name), 12) for name in Exposure.__slots__))
    found = of_days(STRATA, beside, CHANGES | {7: 5, 12: 1})
    assert of_bucket(found, (1, 2)) == MADE
    assert of_bucket(found, (2, 0)) != MADE
    assert -(1 << 63) <= MADE < 1 << 63
