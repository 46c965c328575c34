"""GIVEN visits and pairs WHEN they do not belong together or are no numbers THEN no table is made of them."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.errors import BadShape, NotANumber
from tests.unit.analysis.frames import table

TABLE = table([[1, 2], [3, 4]])


@pytest.mark.parametrize("name", ["weight", "x", "y"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0])
def test_units_are_numbers(name: str, wrong: float) -> None:
    values = getattr(TABLE, name).copy()
    values[0] = wrong
    with pytest.raises(NotANumber):
        replace(TABLE, **{name: values})


@pytest.mark.parametrize(
    "change", [{"weight": np.ones(3)}, {"y": np.ones(3)}, {"row": TABLE.row + 2}, {"visit": TABLE.visit + 2}]
)
def test_columns_belong_together(change: dict[str, np.ndarray]) -> None:
    with pytest.raises(BadShape):
        replace(TABLE, **change)
