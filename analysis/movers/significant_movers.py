"""Selects the hot functions whose share changed significantly and relevantly."""

import numpy as np

from analysis.arrays import Int
from analysis.diff import Diff
from analysis.input_checks import number

LEAST = 0.001
"""Minimum relevant change of share: a thousandth of the selection's cycles."""


def movers(diff: Diff, least: float = LEAST) -> Int:
    """Rows that changed significantly and by at least `least` of the selection, 0…1, largest change first.

    Rows that rest on one or two machines are left out, since they reflect these machines. This is judged on the side
    with more of the row, because a function that disappeared rests on no machine on the other. Raises NotANumber.
    """
    wanted = number("least change of share", least, 0, 1)
    low_confidence = np.where(diff.delta > 0, diff.a.low_confidence, diff.b.low_confidence)
    rows = np.flatnonzero(diff.significant & ~low_confidence & (np.abs(diff.delta) >= wanted))
    return rows[np.argsort(-np.abs(diff.delta[rows]), kind="stable")]
