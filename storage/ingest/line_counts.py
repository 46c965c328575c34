"""Samples by source line, stored beside the stacks, which have functions only."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from storage.blobs.fact_blobs import Lines
from storage.ingest.function_stacks import Calls, Int32s, Int64s, first_of_equal, sum_by_key


@dataclass(frozen=True, slots=True)
class LinesByProfile:
    """Rows of all profiles, one profile after the other."""

    offsets: Int64s
    """Profile p has rows offsets[p]:offsets[p + 1]."""
    lines: Lines


def line_counts(calls: Calls, profile: Int64s, stack: Int64s, count: Int64s, profiles: int) -> LinesByProfile:
    """For every profile its samples by (function, line), where the line is known.

    The facts are parallel columns: profile, stack of the capture, samples. A recursive line counts each sample once in
    its total. Calls without a line are left out: stacks have the same information.
    """
    places, index = _numbered(calls)
    stacks = len(calls.offsets) - 1
    of_call = index.take(calls.place)
    leaf = np.full(stacks, len(places), np.int64)
    filled = np.flatnonzero(np.diff(calls.offsets))
    leaf[filled] = of_call[calls.offsets[filled]]
    leaf_of_fact = leaf[stack]
    known = np.flatnonzero(leaf_of_fact < len(places))

    once, bounds = _once_a_stack(of_call, calls.offsets, len(places))
    each = np.diff(bounds)[stack]
    after = np.cumsum(each)
    at = np.repeat(bounds[stack] - (after - each), each)
    at += np.arange(len(at))
    summed = sum_by_key(
        np.repeat(profile.astype(np.int32), each), once.take(at), np.repeat(count, each), profiles
    )
    offsets, key = summed.offsets, summed.key
    # Leaves are few compared with calls, and each is among the rows.
    leaves = sum_by_key(profile[known], leaf_of_fact[known], count[known], profiles)
    self_samples = np.zeros(len(key), np.int64)
    self_samples[np.searchsorted(_joined(offsets, key), _joined(leaves.offsets, leaves.key))] = leaves.total
    function, line = (places >> 32).astype(np.int32)[key], (places & 0xFFFFFFFF).astype(np.int32)[key]
    return LinesByProfile(offsets, Lines(function, line, self_samples, summed.total))


def _numbered(calls: Calls) -> tuple[Int64s, Int32s]:
    """(distinct (function, line) as function · 2³² + line, ascending; the index of each place of `calls` in them).

    A place without a line has their number as its index.
    """
    known = np.flatnonzero(calls.line > 0)
    places, inverse = np.unique(
        (calls.function[known].astype(np.int64) << 32) | calls.line[known], return_inverse=True
    )
    index = np.full(len(calls.function), len(places), np.int32)
    index[known] = inverse
    return places, index


def _once_a_stack(
    index: Int32s, offsets: Int64s, places: int
) -> tuple[npt.NDArray[np.signedinteger[Any]], Int64s]:
    """The distinct indexes below `places` of every stack, stack by stack, and where each stack's begin."""
    stacks = len(offsets) - 1
    bits = places.bit_length()
    kind = np.int32 if stacks << bits < 1 << 31 else np.int64  # half the width sorts twice as fast
    lead: npt.NDArray[np.signedinteger[Any]] = np.arange(stacks).astype(kind)
    keys = np.repeat(lead << bits, np.diff(offsets))
    keys |= index.astype(kind, copy=False)
    keys.sort()
    once = first_of_equal(keys)
    keys &= (1 << bits) - 1
    once &= keys < places
    at = np.flatnonzero(once)  # indexing by position is faster than by booleans
    return keys.take(at), np.searchsorted(at, offsets)


def _joined(offsets: Int64s, key: Int64s) -> Int64s:
    """(group, key) as one ascending number."""
    return (np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) << 32) | key
