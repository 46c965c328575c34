"""Array types of estimates."""

import numpy as np
import numpy.typing as npt

Float = npt.NDArray[np.float64]
Int = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]


def sums(index: Int, values: Float, size: int) -> Float:
    """Sums of `values` by `index`, 0…size−1."""
    return np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)
