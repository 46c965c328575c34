"""GIVEN the counters of one run WHEN frequencies are asked THEN the paper's model answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.dvfs.one_run import from_counters
from analysis.errors import Contradictory, NotANumber
from tests.unit.analysis.dvfs.published import BASE, GHZ, MCF


def test_the_papers_example() -> None:
    """DIGEST D4, to every digit printed."""
    found = from_counters(**MCF)
    assert round(found.miss_share, 9) == 0.001475463
    assert round(found.cpi_on_chip, 4) == 1.0066
    assert round(found.model.on_chip_cycles / GHZ, 4) == 571.1685
    assert round(found.model.off_chip_s, 4) == 76.2962
    assert found.model.performance(2 * GHZ, BASE) == pytest.approx(552.27 / (571.1685 / 2 + 76.2962))


@settings(deadline=None)
@given(
    st.floats(1e9, 1e13), st.floats(0, 0.02), st.floats(0.3, 5), st.floats(2e-8, 3e-7), st.floats(5e8, 5e9)
)
def test_the_run_itself_comes_back(i: float, r: float, cpi: float, latency: float, hertz: float) -> None:
    seconds = i * r * latency + i * (1 - r) * cpi / hertz
    found = from_counters(i, i * r, seconds, hertz, latency)
    assert found.model.time(hertz) == pytest.approx(seconds)
    assert found.cpi_on_chip == pytest.approx(cpi, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"instructions": 0}, NotANumber),
        ({"instructions": np.nan}, NotANumber),
        ({"misses": -1}, NotANumber),
        ({"seconds": 0}, NotANumber),
        ({"hertz": np.inf}, NotANumber),
        ({"latency_s": 0}, NotANumber),
        ({"misses": MCF["instructions"]}, Contradictory),
        ({"latency_s": 700e-9}, Contradictory),
    ],
)
def test_what_cannot_be_said(change: dict[str, float], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_counters(**{**MCF, **change})
