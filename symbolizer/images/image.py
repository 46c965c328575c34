"""The interface of an image, from offsets to named frames, and the images without a file.

An address without a name has no frames here; the resolver renders it. Files and the vdso are in
`elf_image.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from storage.ingest.symbolized import FunctionName, Status
from symbolizer.addresses import FileOffsets
from symbolizer.demangle import demangle
from symbolizer.kernel.kallsyms import OffsetTable
from symbolizer.tables.address_table import Indexes

Statuses = npt.NDArray[np.uint8]

NO_MEMORY: Final = "Its symbols need more memory than this process has left (FLEETPROF_WORKER_MEMORY_BYTES)."
"""The reason for missing names if reading or looking up an image raised MemoryError."""

Named = tuple[FunctionName, int]
"""A function, and the line executing in it; 0: not known."""


@dataclass(frozen=True, slots=True)
class ImageFrames:
    """Frames of n offsets, innermost first: those of offset i are `entries[offsets[i]:offsets[i + 1]]`.

    `status[i]` is below SYMTAB exactly if offset i has no frame.
    """

    status: Statuses
    offsets: Indexes
    entries: Indexes
    """Indexes into `names`."""
    names: Sequence[Named]


class Image(Protocol):
    """The resolver's interface to images of any kind."""

    @property
    def status(self) -> Status:
        """The best status that a frame of this image can have."""

    @property
    def reason(self) -> str:
        """Why that is not FULL, as a sentence; '' if it is."""

    @property
    def names_held(self) -> int:
        """Number of cached frames with names; some 300 bytes each."""

    @property
    def memory_bytes(self) -> int:
        """Memory of this process that its symbols take, without names; mapped files do not count."""

    def frames(self, offsets: FileOffsets) -> ImageFrames:
        """Frames of lookup offsets; fastest if they ascend. Raises only MemoryError."""

    def forget_names(self) -> None:
        """Clear the cache of names."""


class KallsymsImage:
    """The kernel or a module by its kallsyms; offsets are those of `Mapping.Kind`."""

    def __init__(self, name: str, table: OffsetTable) -> None:
        self._name = name
        self._table = table
        self._functions: dict[int, FunctionName] = {}

    @property
    def names_held(self) -> int:
        """Cached functions."""
        return len(self._functions)

    def forget_names(self) -> None:
        """Clear the cache of names."""
        self._functions.clear()

    @property
    def memory_bytes(self) -> int:
        """0: the kernel's tables are counted separately, once for all images of one kernel."""
        return 0

    @property
    def status(self) -> Status:
        """SYMTAB: names without lines."""
        return Status.SYMTAB

    @property
    def reason(self) -> str:
        """Why the status is not FULL."""
        return "The function names come from the kernel's own symbols; lines need its debug data."

    def frames(self, offsets: FileOffsets) -> ImageFrames:
        """Frames of lookup offsets: one for each offset with a name."""
        index = self._table.find(offsets)
        named = index >= 0
        status = np.where(named, Status.SYMTAB, Status.BINARY_ONLY).astype(np.uint8)
        distinct, entries = np.unique(index[named], return_inverse=True)
        names = [(self._function(i), 0) for i in distinct.tolist()]
        return ImageFrames(status, np.append(0, np.cumsum(named)), entries, names)

    def _function(self, index: int) -> FunctionName:
        """The function; always the same object, because callers map it to an id by identity."""
        known = self._functions.get(index)
        if known is None:
            raw = self._table.names[index].decode("utf-8", "replace")
            known = self._functions[index] = FunctionName(demangle(raw), raw, "", self._name, Status.SYMTAB)
        return known


class UnknownImage:
    """An image for which no file or symbols were found."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    @property
    def names_held(self) -> int:
        """0."""
        return 0

    def forget_names(self) -> None:
        """Does nothing."""

    @property
    def memory_bytes(self) -> int:
        """0."""
        return 0

    @property
    def status(self) -> Status:
        """Its frames have no names."""
        return Status.BINARY_ONLY

    @property
    def reason(self) -> str:
        """Why nothing was found."""
        return self._reason

    def frames(self, offsets: FileOffsets) -> ImageFrames:
        """No frames for any offset."""
        count = len(offsets.values)
        nothing = np.zeros(0, np.int64)
        return ImageFrames(
            np.full(count, Status.BINARY_ONLY, np.uint8), np.zeros(count + 1, np.int64), nothing, ()
        )
