"""Which of a day's hot functions really moved: those worth a closer look."""

import numpy as np

from analysis.arrays import Int
from analysis.diff import Diff
from analysis.input_checks import number

LEAST = 0.001
"""Change of share that anybody would act on: a thousandth of the selection's cycles."""


def movers(diff: Diff, least: float = LEAST) -> Int:
    """Rows that changed significantly and by `least` or more of the selection, 0…1, largest change first.

    Rows that rest on one or two machines are left out, as a closer look at them shows those machines; what counts is the side
    with more of it, since a function that is gone rests on none on the other. Raises NotANumber.
    """
    wanted = number("least change of share", least, 0, 1)
    low_confidence = np.where(diff.delta > 0, diff.a.low_confidence, diff.b.low_confidence)
    rows = np.flatnonzero(diff.significant & ~low_confidence & (np.abs(diff.delta) >= wanted))
    return rows[np.argsort(-np.abs(diff.delta[rows]), kind="stable")]
