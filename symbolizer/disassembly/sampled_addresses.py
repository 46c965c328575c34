"""Samples by address, and the part of a function that is shown if it is too large."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import U64
from symbolizer.disassembly.function_ranges import CodeRange

Counts = npt.NDArray[np.int64]
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SampledAddresses:
    """Columns over distinct addresses, ascending."""

    address: U64
    samples: Counts
    units: Counts
    weight: Weights
    """Estimated units of the fleet."""

    def inside(self, ranges: Sequence[CodeRange]) -> "SampledAddresses":
        """The addresses within the ranges."""
        keep = np.zeros(len(self.address), np.bool_)
        for one in ranges:
            keep |= (self.address >= np.uint64(one.start)) & (self.address < np.uint64(one.end))
        return self.where(keep)

    def where(self, keep: npt.NDArray[np.bool_]) -> "SampledAddresses":
        """The addresses where `keep` is set."""
        return SampledAddresses(self.address[keep], self.samples[keep], self.units[keep], self.weight[keep])


def shown_ranges(ranges: Sequence[CodeRange], sampled: SampledAddresses, most: int) -> tuple[CodeRange, ...]:
    """At most `most` bytes of the ranges, ascending: those with most samples first.

    Of a range that does not fit, the stretch with most samples. It begins at a sampled address: that is the start of an
    instruction, where decoding may begin.
    """
    shown: list[CodeRange] = []
    samples = {one: int(sampled.inside([one]).samples.sum()) for one in ranges}
    for one in sorted(ranges, key=lambda one: (-samples[one], one.start)):
        size = one.end - one.start
        if size <= most:
            shown.append(one)
            most -= size
        elif most > 0:
            start = _densest(one, sampled.inside([one]), most)
            shown.append(CodeRange(one.symbol, start, min(start + most, one.end)))
            most = 0
    return tuple(sorted(shown, key=lambda one: one.start))


def _densest(one: CodeRange, sampled: SampledAddresses, size: int) -> int:
    """Start of the stretch of `size` bytes with most samples; the first of equals."""
    starts = np.append(np.uint64(one.start), sampled.address)
    before = np.append(0, np.cumsum(sampled.samples))
    first = np.searchsorted(sampled.address, starts)
    after = np.searchsorted(sampled.address, starts + np.uint64(size))
    return int(starts[int(np.argmax(before[after] - before[first]))])
