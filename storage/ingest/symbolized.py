"""What symbolization says about a capture's frames: the input of ingestion.

The symbolizer makes it, ingestion takes it; it stands here because storage knows nothing of the
symbolizer (storage/ingest/README.md).
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt


class Status(IntEnum):
    """How well a frame is known; the numbers are stored and compared (higher is better)."""

    UNKNOWN = 0
    """No image, or an address outside every function of it."""
    BINARY_ONLY = 1
    """The image is known, its symbols are not."""
    SYMTAB = 2
    """Named by a symbol table, kallsyms or a perf map."""
    FULL = 3
    """Named by debug information, with file, line and inlined calls."""


@dataclass(frozen=True, slots=True)
class FunctionName:
    """One distinct function, named or not.

    A named function is the same wherever (name, file, binary_name) is; one without a name is the
    same wherever (binary_key, start) is, and `name` is then its rendering `lib.so+0x1234`.
    """

    name: str
    raw_name: str
    file: str
    binary_name: str
    status: Status
    start_line: int = 0
    """Line of the definition; 0 not known."""
    binary_key: str | None = None
    """Set only while the function has no name (see `storage.schema.binary.key`)."""
    start: int | None = None
    """Start of the function in the binary's own offset space; None: not known, or named."""


@dataclass(frozen=True, slots=True)
class BinaryReport:
    """How well one binary of a capture could be symbolized."""

    key: str
    """As in `storage.schema.binary.key`."""
    status: Status
    """The best a frame of it can have."""
    reason: str
    """Why that is not FULL, a sentence for a person; '' if it is."""


@dataclass(frozen=True, slots=True)
class ResolvedFrames:
    """For every frame of a capture, the chain of calls it stands for.

    Frame i stands for entries `offsets[i]:offsets[i + 1]`, innermost (most deeply inlined) first,
    at least one entry each.
    """

    functions: tuple[FunctionName, ...]
    offsets: npt.NDArray[np.int64]
    """n + 1 ascending offsets into the two arrays below, n the frames of the capture."""
    function: npt.NDArray[np.int32]
    """Index into `functions`."""
    line: npt.NDArray[np.int32]
    """Source line executing there; 0 not known."""
    status: npt.NDArray[np.uint8]
    """`Status` of each frame, length n."""
    binaries: tuple[BinaryReport, ...] = ()
    """One for each image that frames lie in, code without a file apart."""
