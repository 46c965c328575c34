"""GIVEN more visits than can be shuffled WHEN a part of them is taken THEN it stands for all of them."""

import numpy as np
import pytest

from analysis import diff, table_shares
from analysis.permutation_test import FEWEST_SHUFFLES
from analysis.visit_subsample import subsample
from analysis.visit_table import VisitTable
from tests.unit.analysis.frames import table


def some(seed: int, count: int, *, first: int = 0, rows: int = 4, change: float = 1.0) -> VisitTable:
    rng = np.random.default_rng(seed)
    rates = np.array([50, 20, 10, 5, *np.ones(rows - 4)])
    rates[1] *= change
    y = rng.poisson(rates * rng.gamma(4, 0.25, count)[:, None])
    return table(
        y,
        x=y.sum(axis=1) + 1,
        stratum=np.arange(count) % 3,
        key=np.arange(first, first + count),
        weight=2.0 + np.arange(count) % 3,
    )


def test_a_part_has_as_many_visits_as_asked_and_every_stratum_weighs_as_before() -> None:
    whole = some(1, 3000), some(2, 2400, first=10_000)
    kept = subsample(*whole, 1000)
    assert sum(one.visits for one in kept) == pytest.approx(1000, abs=6)
    for one, all_of_it in zip(kept, whole, strict=True):
        before, after = (np.bincount(t.stratum, t.weight) for t in (all_of_it, one))
        assert after == pytest.approx(before)
        assert np.isin(one.key, all_of_it.key).all()
        assert one.shares == pytest.approx(all_of_it.shares, abs=0.02)


def test_a_visit_brings_its_own_pairs_along() -> None:
    whole = some(3, 300)
    dense = {}
    for key, row, y in zip(whole.key[whole.visit], whole.row, whole.y, strict=True):
        dense[int(key), int(row)] = float(y)
    one, _ = subsample(whole, some(4, 300, first=1000), 200)
    got = {
        (int(key), int(row)): float(y) for key, row, y in zip(one.key[one.visit], one.row, one.y, strict=True)
    }
    keys = set(one.key.tolist())
    assert got == {pair: y for pair, y in dense.items() if pair[0] in keys}


def test_over_many_keys_the_sums_are_those_of_all_visits() -> None:
    """Other keys are another draw: the mean over draws is what is estimated."""
    whole = some(5, 300)
    total = (whole.weight * whole.x).sum()
    sums = []
    for draw in range(200):
        renamed = table(
            np.zeros((300, 1)),
            x=whole.x,
            stratum=whole.stratum,
            weight=whole.weight,
            key=np.arange(300) + 1000 * draw,
        )
        one, _ = subsample(renamed, some(6, 300, first=10**7), 120)
        sums.append((one.weight * one.x).sum() / total)
    assert np.mean(sums) == pytest.approx(1, abs=4 * np.std(sums) / np.sqrt(len(sums)))
    assert np.std(sums) > 0.01


def test_a_small_selection_stays_whole() -> None:
    canary, base = some(7, 30), some(8, 5000, first=10_000)
    a, b = subsample(canary, base, 400)
    assert a.visits == 30
    assert a.weight.tolist() == canary.weight.tolist()
    assert b.visits == pytest.approx(370, abs=4)


def test_pairs_stay_pairs() -> None:
    a, b = subsample(some(9, 1000), some(10, 1000, first=500), 600)
    pairs = np.intersect1d(a.key, b.key)
    assert ((a.key >= 500) == np.isin(a.key, pairs)).all()
    assert ((b.key < 1000) == np.isin(b.key, pairs)).all()
    assert a.visits + b.visits == pytest.approx(600, abs=8)


def test_p_values_of_a_part_find_the_change_and_shares_are_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = some(11, 800, change=1.3), some(12, 800, first=10_000)
    whole = diff.compare(a, b, seed=1)
    monkeypatch.setattr(diff, "_WORK", 8_000_000)
    one, again = diff.compare(a, b, seed=1), diff.compare(a, b, seed=1)
    assert whole.part == 1
    assert 0.05 < one.part < 0.4
    assert one.significant[1]
    assert one.p.tolist() == again.p.tolist()
    assert one.power.power < whole.power.power
    for name in ("value", "lo", "hi"):
        assert getattr(one.a, name).tolist() == getattr(whole.a, name).tolist()
    assert one.delta.tolist() == whole.delta.tolist()


def test_the_work_is_bounded_however_many_visits_and_rows_there_are() -> None:
    rows, count = 500, 100_000
    row, visit = np.zeros(0, np.int64), np.zeros(0, np.int64)
    a, b = (
        VisitTable(
            key=np.arange(first, first + count),
            stratum=np.zeros(count, np.int64),
            weight=np.ones(count),
            x=np.ones(count),
            row=row,
            visit=visit,
            y=np.zeros(0),
            rows=rows,
        )
        for first in (0, count)
    )
    parts = subsample(a, b, diff._most_visits(a, b))
    assert diff._cost(*parts) * FEWEST_SHUFFLES <= diff._WORK * 1.01


def test_some_rows_at_a_time_have_the_shares_of_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = some(13, 50, rows=9)
    at_once = table_shares.shares(whole)
    monkeypatch.setattr(table_shares, "_PAIRS_AT_ONCE", 100)
    assert table_shares.shares(whole).lo == pytest.approx(at_once.lo)
    assert table_shares.shares(whole).effective == pytest.approx(at_once.effective)
