"""GIVEN a comparison of two days WHEN its movers are asked THEN they are what changed by enough to act on."""

import numpy as np
import pytest

from analysis import diff
from analysis.errors import NotANumber
from analysis.movers.significant_movers import movers
from tests.unit.analysis.frames import table


def test_movers_are_sorted_by_what_they_changed() -> None:
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(20, 5.0), 200)
    changed = shares.copy()
    changed[:, 3] *= 2.5
    changed[:, 8] = 0  # gone: no visit of today contributes, yet it moved
    before, now = (rng.poisson(2000 * s) for s in (shares, changed))
    found = diff.compare(table(now), table(before, key=np.arange(1000, 1200)), seed=0)
    rows = movers(found)
    assert set(rows[:2].tolist()) == {3, 8}
    assert (np.diff(np.abs(found.delta[rows])) <= 0).all()
    assert found.significant[rows].all()
    assert len(movers(found, least=1.0)) == 0
    with pytest.raises(NotANumber):
        movers(found, least=2.0)
