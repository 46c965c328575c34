"""Selects the rows that differ, and determines the level of the intervals shown with them.

Benjamini and Hochberg's step-up procedure marks rows so that on average at most 5 % of the marked ones are false. It
marks R of m rows: those with p ≤ R · 0.05 / m. Intervals of the marked rows at the usual level would miss the truth
more often than in 5 %, because the data selected the rows; at the level 1 − R · 0.05 / m they miss it in 5 % of the
marked rows on average (false coverage rate). At that level an interval excludes "no difference" exactly if its row is
marked, so it is used for all rows of a comparison.
Sources: Benjamini and Hochberg, JRSS B 57 (1995); Benjamini and Yekutieli, JASA 100 (2005).
"""

import numpy as np

from analysis.arrays import Float
from analysis.confidence import ERROR

FALSE_DISCOVERIES = ERROR
"""Maximum expected share of false rows among the significant ones."""


def benjamini_hochberg(p: Float) -> Float:
    """The q-value of each p-value: the smallest false-discovery rate at which it is significant; 0…1."""
    order = np.argsort(-p, kind="stable")
    ranks = np.arange(len(p), 0, -1)
    q = np.empty(len(p))
    q[order] = np.minimum.accumulate(np.minimum(p[order] * len(p) / ranks, 1.0))
    return q


def error_rate(q: Float) -> float:
    """1 − the level of intervals of rows with these q-values: R · 0.05 / m, R = 1 without significant rows; 0…0.05."""
    marked = int((q <= FALSE_DISCOVERIES).sum())
    return FALSE_DISCOVERIES * max(marked, 1) / max(len(q), 1)
