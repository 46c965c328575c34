"""The address spaces between a sample and a symbol, one type for each, and the conversions between them.

    recorded pointer ─looked_up()─▶ FileOffsets ──SegmentMap.to_vaddrs()──▶ ElfVaddrs ──relative_to()──▶ CacheAddresses

Mixing them up passes most tests, because on the usual x86-64 PIE of GNU ld all four are the same
number. They differ for non-PIE programs (vaddr = offset + 0x400000), for files linked by lld (offset
0x820 is vaddr 0x1820) and for the kernel.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from symbolizer.errors import MalformedElf

U64 = npt.NDArray[np.uint64]

PAGE_SIZE: Final = 4096
NOWHERE: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
"""Marks a missing address; above every function, so that its lookup misses."""


@dataclass(frozen=True, slots=True)
class FileOffsets:
    """Offsets of instructions in a file (or in the space that `Mapping.Kind` defines for other images)."""

    values: U64


@dataclass(frozen=True, slots=True)
class ElfVaddrs:
    """Virtual addresses as an ELF file states them (p_vaddr, st_value); `NOWHERE` where there is none."""

    values: U64

    def relative_to(self, base: int) -> "CacheAddresses":
        """Addresses counted from `base`, the first PT_LOAD's p_vaddr of the file a SymCache was built from."""
        below = self.values < np.uint64(base)
        return CacheAddresses(
            np.where(below | (self.values == NOWHERE), NOWHERE, self.values - np.uint64(base))
        )


@dataclass(frozen=True, slots=True)
class CacheAddresses:
    """Addresses as a SymCache counts them; those above 32 bits are in no SymCache."""

    values: U64


@dataclass(frozen=True, slots=True)
class RecordedPointers:
    """Instruction pointers as sampled, already relative to their image; the arrays have equal length."""

    offsets: U64
    exact: npt.NDArray[np.bool_]
    """The pointer is of the instruction itself: a leaf, or a frame that a signal interrupted."""

    def looked_up(self) -> FileOffsets:
        """The lookup address: one byte before a return address, the pointer itself if it is exact.

        A return address is that of the instruction after the call. After a call that never returns, this is
        already another function or no function at all (seen with `abort()` as the last call of gcc -O2
        functions). One byte back is inside the call instruction on every architecture.
        """
        back = (~self.exact & (self.offsets > 0)).astype(np.uint64)
        return FileOffsets(self.offsets - back)


@dataclass(frozen=True, slots=True)
class Segment:
    """One PT_LOAD header: `filesz` bytes at file offset `offset` lie at `vaddr`. Raises `MalformedElf`."""

    offset: int
    vaddr: int
    filesz: int
    executable: bool

    def __post_init__(self) -> None:
        # Every frame adds these in 64 bits; an overflow from one bad file would fail every capture.
        if (
            min(self.offset, self.vaddr, self.filesz) < 0
            or max(self.offset, self.vaddr) + self.filesz >= 1 << 64
        ):
            raise MalformedElf("One of its segments exceeds the address space.")


@dataclass(frozen=True, slots=True)
class SegmentMap:
    """PT_LOAD headers of one ELF file, in file order."""

    segments: tuple[Segment, ...]

    @property
    def base(self) -> int:
        """First PT_LOAD's p_vaddr, which SymCache addresses count from; 0 for a file without segments."""
        return self.segments[0].vaddr if self.segments else 0

    def to_vaddrs(self, offsets: FileOffsets) -> ElfVaddrs:
        """The virtual address of each file offset, through the segment that covers it; else `NOWHERE`.

        The kernel maps whole pages, so a segment also covers its first page's start. If two cover
        an offset, an executable one takes precedence, and among those the one that holds it without rounding.
        """
        values = np.full(len(offsets.values), NOWHERE)
        for rounded, executable in ((True, False), (False, False), (True, True), (False, True)):
            for segment in self.segments:
                if segment.executable is executable:
                    self._cover(segment, rounded=rounded, offsets=offsets.values, into=values)
        return ElfVaddrs(values)

    @staticmethod
    def _cover(segment: Segment, *, rounded: bool, offsets: U64, into: U64) -> None:
        slack = segment.offset % PAGE_SIZE if rounded else 0
        slack = min(slack, segment.vaddr)
        first = np.uint64(segment.offset - slack)
        inside = (offsets >= first) & (offsets - first < np.uint64(segment.filesz + slack))
        into[inside] = offsets[inside] - first + np.uint64(segment.vaddr - slack)
