"""The symbolization of a capture's frames: the input of ingestion.

The symbolizer produces it and ingestion consumes it. It is defined here because storage does not import the symbolizer
(storage/ingest/README.md).
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt


class Status(IntEnum):
    """How well a frame is resolved; the numbers are stored and compared (higher is better)."""

    UNKNOWN = 0
    """No image, or an address outside all its functions."""
    BINARY_ONLY = 1
    """The image is known, its symbols are not."""
    SYMTAB = 2
    """Named by a symbol table, kallsyms or a perf map."""
    FULL = 3
    """Named by debug information, with file, line and inlined calls."""


@dataclass(frozen=True, slots=True)
class FunctionName:
    """One distinct function, named or not.

    A named function is identified by (name, file, binary_name). An unnamed one is identified by (binary_key, start),
    and `name` is then its rendering `lib.so+0x1234`.
    """

    name: str
    raw_name: str
    file: str
    binary_name: str
    status: Status
    start_line: int = 0
    """Line of the definition; 0 if unknown."""
    binary_key: str | None = None
    """Set only while the function has no name (see `storage.schema.binary.key`)."""
    start: int | None = None
    """Start of the function in the binary's own offset space; None if unknown, or if named."""


@dataclass(frozen=True, slots=True)
class BinaryReport:
    """How well one binary of a capture could be symbolized."""

    key: str
    """As in `storage.schema.binary.key`."""
    status: Status
    """The best status that its frames can have."""
    reason: str
    """Why it is not FULL, as a sentence for users; '' if it is."""


@dataclass(frozen=True, slots=True)
class ResolvedFrames:
    """For every frame of a capture, the chain of calls it stands for.

    Frame i stands for entries `offsets[i]:offsets[i + 1]`, innermost (most deeply inlined) first, at least one entry
    each.
    """

    functions: tuple[FunctionName, ...]
    offsets: npt.NDArray[np.int64]
    """n + 1 ascending offsets into the two arrays below; n is the number of frames of the capture."""
    function: npt.NDArray[np.int32]
    """Index into `functions`."""
    line: npt.NDArray[np.int32]
    """Source line that executes there; 0 if unknown."""
    status: npt.NDArray[np.uint8]
    """`Status` of each frame, length n."""
    binaries: tuple[BinaryReport, ...] = ()
    """One report for each image with frames, except code without a file."""
