"""Executable memory of one process, kept current from mmap, fork and exec records."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateway.process.maps import Vma
    from gateway.runtimes.hotspot.hotspot_process import HotspotProcess
    from gateway.unwind.rules import Rule


class AddressSpace:
    """Executable mappings, sorted and without overlap.

    `rules` and `return_sites` cache the walker's results by address; every new mapping clears them. An exec is a new
    AddressSpace, a fork a `copy`. `hotspot` reads the frames of a JVM, if one was found.
    """

    __slots__ = ("_jvm", "_may_run_python", "_starts", "_vmas", "hotspot", "return_sites", "rules")

    def __init__(self, vmas: Iterable[Vma]) -> None:
        self._vmas: list[Vma] = []
        self._starts: list[int] = []
        self.rules: dict[int, Rule] = {}
        self.return_sites: dict[int, int] = {}
        self._may_run_python: bool | None = None
        self._jvm: Vma | None = None
        self.hotspot: HotspotProcess | None = None
        for vma in sorted(vmas, key=lambda vma: vma.start):
            self.map(vma)

    @property
    def vmas(self) -> Sequence[Vma]:
        """The mappings by ascending address."""
        return self._vmas

    @property
    def may_run_python(self) -> bool:
        """Whether an image's name contains "python", so that CPython's trampolines may occur."""
        if self._may_run_python is None:
            self._may_run_python = any("python" in vma.path for vma in self._vmas)
        return self._may_run_python

    @property
    def libjvm(self) -> Vma | None:
        """The code of HotSpot's library, if it is mapped."""
        return self._jvm

    def map(self, vma: Vma) -> None:
        """Add a mapping. It replaces what it covers; the uncovered parts of other mappings stay.

        Dropping each overlapped mapping as a whole lost 735 of 815 stacks of clang: its loader maps the file once over
        the full range and then the parts over it.
        """
        if vma.start >= vma.end:
            return
        starts, vmas = self._starts, self._vmas
        first = bisect_right(starts, vma.start) - 1
        if first < 0 or vmas[first].end <= vma.start:
            first += 1
        after = bisect_left(starts, vma.end, lo=first)
        pieces = [vma]
        if first < after:
            left, right = vmas[first], vmas[after - 1]
            if left.start < vma.start:
                pieces.insert(0, replace(left, end=vma.start))
            if right.end > vma.end:
                pieces.append(replace(right, start=vma.end, offset=right.offset + vma.end - right.start))
        vmas[first:after] = pieces
        starts[first:after] = [piece.start for piece in pieces]
        self._may_run_python = None
        if vma.path.endswith("/libjvm.so"):
            self._jvm = vma
        if self.rules:
            self.rules = {}
        if self.return_sites:
            self.return_sites = {}

    def refresh(self, vmas: Iterable[Vma]) -> bool:
        """Merge mappings that were read again; whether any was new.

        For walks that end without a mapping: perf does not report memory that mremap moves.
        """
        known = {(vma.start, vma.end, vma.offset, vma.inode) for vma in self._vmas}
        new = [vma for vma in vmas if (vma.start, vma.end, vma.offset, vma.inode) not in known]
        for vma in new:
            self.map(vma)
        return bool(new)

    def copy(self) -> AddressSpace:
        """The address space of a forked child."""
        child = AddressSpace(())
        child._vmas = self._vmas.copy()
        child._starts = self._starts.copy()
        child._jvm = self._jvm
        return child

    def find(self, address: int) -> Vma | None:
        """Return the mapping of an address; None: no executable mapping contains it."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        vma = self._vmas[index]
        return vma if address < vma.end else None
