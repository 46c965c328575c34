"""Samples by source line, beside the stacks that know functions only."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from storage.landing.lines import Lines
from storage.landing.stacks import Calls, Int64s, first_of_equal, sum_by_key
from storage.landing.sums import EXACT

_DENSE = 1 << 23
"""Cells of a table of (profile, line) that is summed in; 64 MB. A larger one is sorted instead."""


@dataclass(frozen=True, slots=True)
class LinesByProfile:
    """Rows of all profiles, one profile's after the other's."""

    offsets: Int64s
    """Profile p has rows offsets[p]:offsets[p + 1]."""
    lines: Lines


def line_counts(calls: Calls, profile: Int64s, stack: Int64s, count: Int64s, profiles: int) -> LinesByProfile:
    """For every profile its samples by (function, line), where the line is known.

    The facts are parallel columns: profile, stack of the capture, samples. A recursive line counts
    each sample once in its total. Calls without a line are left out: stacks say as much of them.
    """
    places, index = _numbered(calls)
    stacks = len(calls.offsets) - 1
    once, bounds = _once_a_stack(index[calls.place], calls.offsets, len(places))

    each = np.diff(bounds)[stack]
    after = np.cumsum(each)
    at = np.repeat(bounds[stack] - (after - each), each) + np.arange(int(each.sum()))
    leaf = np.full(stacks, len(places), np.int64)
    filled = np.flatnonzero(np.diff(calls.offsets))
    leaf[filled] = index[calls.place[calls.offsets[filled]]]
    leaf_of_fact = leaf[stack]
    known = leaf_of_fact < len(places)

    cells = profiles * len(places)
    if cells <= _DENSE and float(count.sum(dtype=np.float64)) < EXACT:
        # Counts below 2⁵³ add up exactly in doubles.
        row = profile * len(places)
        weights = np.repeat(count.astype(np.float64), each)
        totals = np.bincount(np.repeat(row, each) + once[at], weights, minlength=cells)
        there = np.flatnonzero(totals != 0)
        offsets = np.searchsorted(there, np.arange(profiles + 1) * len(places))
        key = there - np.repeat(np.arange(profiles) * len(places), np.diff(offsets))
        total = totals[there].astype(np.int64)
    else:
        summed = sum_by_key(np.repeat(profile, each), once[at], np.repeat(count, each), profiles)
        offsets, key, total = summed.offsets, summed.key, summed.total
    # Leaves are few beside calls, and each of them is among the rows.
    leaves = sum_by_key(profile[known], leaf_of_fact[known], count[known], profiles)
    self_samples = np.zeros(len(key), np.int64)
    self_samples[np.searchsorted(_joined(offsets, key), _joined(leaves.offsets, leaves.key))] = leaves.total
    function, line = (places >> 32).astype(np.int32)[key], (places & 0xFFFFFFFF).astype(np.int32)[key]
    return LinesByProfile(offsets, Lines(function, line, self_samples, total))


def _numbered(calls: Calls) -> tuple[Int64s, Int64s]:
    """The distinct (function, line), ascending, as function · 2³² + line; and by place of `calls` its index, or their number."""
    known = np.flatnonzero(calls.line > 0)
    places, inverse = np.unique(
        (calls.function[known].astype(np.int64) << 32) | calls.line[known], return_inverse=True
    )
    index = np.full(len(calls.function), len(places), np.int64)
    index[known] = inverse
    return places, index


def _once_a_stack(index: Int64s, offsets: Int64s, places: int) -> tuple[Int64s, Int64s]:
    """The distinct indexes below `places` of every stack, stack by stack, and where each stack's begin."""
    stacks = len(offsets) - 1
    bits = places.bit_length()
    lead: npt.NDArray[np.integer] = np.arange(stacks) << bits
    if stacks << bits < 1 << 31:  # half as wide a number sorts twice as fast
        lead = lead.astype(np.int32)
    keys = np.repeat(lead, np.diff(offsets))
    keys |= index.astype(lead.dtype)
    keys.sort()
    place = keys & ((1 << bits) - 1)
    once = first_of_equal(keys) & (place < places)
    before = np.concatenate(([0], np.cumsum(once)))
    return place[once].astype(np.int64), before[offsets]


def _joined(offsets: Int64s, key: Int64s) -> Int64s:
    """(group, key) as one ascending number."""
    return (np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) << 32) | key
