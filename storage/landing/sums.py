"""Sums by index, exact, at the speed of doubles wherever these are exact."""

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]

EXACT = 1 << 53
"""Whole numbers that add up to less add up exactly in doubles."""


def sums_by(index: Int64s, values: Int64s, size: int) -> Int64s:
    """Σ of the values ≥ 0 of every index 0 ≤ i < size, in int64."""
    if float(values.sum(dtype=np.float64)) < EXACT:
        return np.bincount(index, values.astype(np.float64), size).astype(np.int64)
    total = np.zeros(size, np.int64)
    np.add.at(total, index, values)
    return total
