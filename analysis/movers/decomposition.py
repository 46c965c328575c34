"""Decomposes a change of a share by the values of one dimension.

Let m_g be the part of all units that value g has, and s_g the function's share within it, so that S = Σ m_g·s_g. Then
(Kitagawa, Journal of the American Statistical Association 50 (1955))

    ΔS = Σ Δm_g · mean s_g   mix: values with another share became a larger or smaller part of the whole (a roll-out)
       + Σ mean m_g · Δs_g   within: the share changed within them

A value that is new or gone is all mix. Of the change within, a value *explains* the part by which it changed more than
the others: m_g · (s_g − r·s_g before), r the ratio of the others' shares now and before (a difference of differences).
If all changed alike, none explains anything.
"""

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Float

_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class Change:
    """The change in n pairs of selections (permutations, resamples) by G values."""

    delta: Float
    """ΔS; (n,)."""
    mix: Float
    """Each value's part of the mix, relative to the mean share; these add up to the mix; (n, G)."""
    within: Float
    """Each value's change beyond that of the others, in units of S; (n, G)."""


def decompose(y_now: Float, x_now: Float, y_before: Float, x_before: Float) -> Change:
    """The change from weighted units of the function (y) and of everything (x), by value; (n, G) each."""
    now, before = (np.maximum(x.sum(axis=1, keepdims=True), _TINY) for x in (x_now, x_before))
    m_now, m_before = x_now / now, x_before / before
    s_now, s_before = _over(y_now, x_now), _over(y_before, x_before)
    there, was = x_now > 0, x_before > 0
    s_now, s_before = np.where(there, s_now, s_before), np.where(was, s_before, s_now)
    all_now, all_before = y_now.sum(axis=1, keepdims=True) / now, y_before.sum(axis=1, keepdims=True) / before
    mix = (m_now - m_before) * ((s_now + s_before) / 2 - (all_now + all_before) / 2)
    both = there & was
    m = (m_now + m_before) / 2
    part_now, part_before = (np.where(both, m * s, 0.0) for s in (s_now, s_before))
    others_now, others_before = (part.sum(axis=1, keepdims=True) - part for part in (part_now, part_before))
    # Without others, or if these lack the function, there is no reference for a change.
    ratio = np.divide(others_now, others_before, out=np.ones_like(m), where=others_before > 0)
    alone = both.sum(axis=1, keepdims=True) < 2
    within = np.where(both & ~alone, part_now - ratio * part_before, 0.0)
    return Change((all_now - all_before)[:, 0], mix, within)


def _over(y: Float, x: Float) -> Float:
    return np.asarray(np.divide(y, x, out=np.zeros(y.shape), where=x > 0))
