"""What rows leave of the whole, where only moments of the rows and of the whole are known.

Every visit brings to the remainder what it brings to the whole less what it brings to the rows. Which visits two rows have in common
moments do not say, so that of the remainder's spread and of the visits that contribute to it there are bounds, both on the
side of wide intervals. Told in docs/api.md, "Over time".
"""

from dataclasses import replace

import numpy as np

from analysis.moments import Moments


def remainder(whole: Moments, rows: Moments) -> Moments:
    """The moments of what is in none of these rows, as one row; `whole` is one row too, and a sample is in one row at most.

    y and vxy are exact. vyy is the largest that it can be: Σ y of the rows has at most the deviation that the rows' own add up to.
    second²/fourth is the least number of contributing visits that there can be, and at least 1. With z of the whole, l of row
    i and r of the remainder, 0 ≤ r ≤ z for each visit, so that Σr⁴ ≤ Σz⁴; ‖r‖ ≥ ‖z‖ - Σᵢ‖lᵢ‖; and Σr² ≥ (Σr)²/n for n visits.
    `visits` are those of the whole.
    """
    together = np.sqrt(rows.vyy).sum() ** 2
    y = np.maximum(whole.y - rows.y.sum(), 0.0)
    apart = np.maximum(np.sqrt(whole.second) - np.sqrt(rows.second).sum(), 0.0) ** 2
    second = np.maximum(apart, y**2 / np.maximum(whole.visits, 1))
    least = np.divide(second**2, whole.fourth, out=np.zeros(1), where=whole.fourth > 0)
    return replace(
        whole,
        y=y,
        vyy=np.maximum(whole.vyy - 2 * rows.vxy.sum() + together, 0.0),
        vxy=whole.vyy - rows.vxy.sum(),
        second=y**2,
        fourth=y**4 / np.maximum(least, 1.0),
    )
