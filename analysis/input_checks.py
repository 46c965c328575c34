"""Validation of model inputs: finite numbers, in range, and enough of them.

Nothing is repaired here. A model that skips a NaN would silently use a smaller sample. So a NaN is rejected; the
caller, which has the context, leaves the observation out and reports it.
"""

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float
from analysis.errors import BadShape, Constant, InsufficientData, NotANumber

_LARGEST = 1e100
"""Larger than any measured value; its square and cube can still be computed."""
_SMALLEST = 1e-100
"""Minimum of positive values."""


def numbers(what: str, values: ArrayLike, least: float = -np.inf, most: float = np.inf) -> Float:
    """The values as an array of floats, all finite (no larger than 1e100) and `least` … `most`.

    Raises NotANumber with the number of invalid values and an example.
    """
    array = np.asarray(values, np.float64)
    wrong = ~(np.abs(array) <= _LARGEST) | (array < least) | (array > most)
    if wrong.any():
        shown = float(array[wrong].ravel()[0]) if array.ndim else float(array)
        several = f"{int(wrong.sum())} of {array.size} values are invalid, such as {shown:g}"
        one = f"the value {shown:g} is invalid"
        raise NotANumber(f"{what}: {several if array.size > 1 else one}; {_range(least, most)}.")
    return array


def number(what: str, value: float, least: float = -np.inf, most: float = np.inf) -> float:
    """One value, finite and `least` … `most`; raises NotANumber."""
    return float(numbers(what, value, least, most))


def positive(what: str, value: float) -> float:
    """One finite value > 0; raises NotANumber."""
    return number(what, value, _SMALLEST)


def positives(what: str, values: ArrayLike) -> Float:
    """Finite values > 0; raises NotANumber."""
    return numbers(what, values, _SMALLEST)


def enough(what: str, count: int, needed: int) -> None:
    """Raise InsufficientData if there are fewer than needed."""
    if count < needed:
        raise InsufficientData(f"{what}: {count} available, {needed} needed.")


def same_length(what: str, *arrays: Float) -> None:
    """Raise BadShape unless all arrays have the same length."""
    if len({len(array) for array in arrays}) > 1:
        raise BadShape(f"{what} must have the same number of entries.")


def varied(what: str, values: Float) -> None:
    """Raise Constant unless values differ by more than rounding."""
    spread = float(np.ptp(values)) if len(values) else 0.0
    if spread <= 1e-12 * float(np.abs(values).max(initial=0.0)):
        raise Constant(f"{what} do not vary, so a model cannot be fitted.")


def _range(least: float, most: float) -> str:
    if np.isinf(least) and np.isinf(most):
        return "finite numbers are needed"
    if np.isinf(most):
        return "positive numbers are needed" if least == _SMALLEST else f"{least:g} or more is needed"
    return f"{least:g} to {most:g} is needed"
