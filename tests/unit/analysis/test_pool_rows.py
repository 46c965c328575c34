"""GIVEN sparse rows of many visits WHEN they are reweighted in parts THEN shares and variances are those of one product."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from analysis.pool_rows import PoolRows


@pytest.mark.parametrize("columns", [1, 32, 33, 100])
def test_parts_have_the_results_of_the_whole(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    y = random_array((40, 90), density=0.05, rng=rng, format="coo")
    x = np.asarray(y.sum(axis=0)) + rng.random(90)
    rows = PoolRows.of(y, x)
    assert isinstance(rows.y, csr_array)
    weight = rng.random((90, columns)) * (rng.random((90, columns)) < 0.5)
    whole = rows.shares(weight)
    monkeypatch.setattr("analysis.pool_rows._CACHED", 1)
    for one, other in zip(rows.shares(weight), whole, strict=True):
        assert one.shape == (40, columns)
        assert one == pytest.approx(other, rel=1e-12)
