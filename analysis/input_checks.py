"""What every model asks of its inputs before it computes: numbers, in their range, and enough of them.

Nothing is repaired here. A NaN that a model skips turns into a smaller sample that nobody sees; so it is refused, and the
caller, who knows what is missing, leaves the observation out and says so.
"""

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Float
from analysis.errors import BadShape, Constant, InsufficientData, NotANumber

_LARGEST = 1e100
"""Nothing that is measured is larger; squares and cubes of it can still be computed."""
_SMALLEST = 1e-100
"""Of what has to be positive."""


def numbers(what: str, values: ArrayLike, least: float = -np.inf, most: float = np.inf) -> Float:
    """The values as an array of floats, all finite (no larger than 1e100) and `least` … `most`.

    Raises NotANumber, which says how many are not and shows one.
    """
    array = np.asarray(values, np.float64)
    wrong = ~(np.abs(array) <= _LARGEST) | (array < least) | (array > most)
    if wrong.any():
        shown = float(array[wrong].ravel()[0]) if array.ndim else float(array)
        count = f"{int(wrong.sum())} of {array.size} values" if array.size > 1 else "the value"
        raise NotANumber(f"{what}: {count} cannot be used, such as {shown:g}; {_range(least, most)}.")
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
    """Nothing, where there are as many as needed; else raises InsufficientData."""
    if count < needed:
        raise InsufficientData(f"{what}: {count} there, {needed} needed.")


def same_length(what: str, *arrays: Float) -> None:
    """Nothing, where all arrays have the same length; else raises BadShape."""
    if len({len(array) for array in arrays}) > 1:
        raise BadShape(f"{what} need one entry each for the same things.")


def varied(what: str, values: Float) -> None:
    """Nothing, where values differ by more than rounding; else raises Constant."""
    spread = float(np.ptp(values)) if len(values) else 0.0
    if spread <= 1e-12 * float(np.abs(values).max(initial=0.0)):
        raise Constant(f"{what} do not vary: nothing can be learned from them.")


def _range(least: float, most: float) -> str:
    if np.isinf(least) and np.isinf(most):
        return "finite numbers are needed"
    if np.isinf(most):
        return "positive numbers are needed" if least == _SMALLEST else f"{least:g} or more is needed"
    return f"{least:g} to {most:g} is needed"
