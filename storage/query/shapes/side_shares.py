"""Shares in one selection, or in a selection and its base, as columns over the rows of both."""

from typing import TypedDict, TypeVar

import numpy as np

from storage.arrays import Float, Int64

Shares = tuple[Float, ...]
"""A column for each side: the selection, then its base if there is one; 0 where a side does not have the row."""
_Column = TypeVar("_Column", Float, Int64)


def largest(shares: Shares) -> Float:
    """The largest share of all sides, by row."""
    found: Float = np.maximum.reduce(shares)
    return found


def spread(values: _Column, places: Int64, size: int) -> _Column:
    """The values at their places among `size`, and 0 elsewhere."""
    found = np.zeros(size, values.dtype)
    found[places] = values
    return found


class InBase(TypedDict):
    """A row's members about the base, None without one."""

    b_self_share: float | None
    b_total_share: float | None
    delta: float | None


def in_base(own: Shares, total: Shares, row: int) -> InBase:
    """The members of a row, from all sides' shares of self and of totals."""
    if len(total) == 1:
        return {"b_self_share": None, "b_total_share": None, "delta": None}
    now, base = (float(share[row]) for share in total)
    return {"b_self_share": float(own[1][row]), "b_total_share": base, "delta": now - base}
