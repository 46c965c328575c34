"""Inspects files that may be hostile in a child process, within limits of memory and time."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from symbolizer.files import OpenedFile
from symbolizer.inspection import child as inspection_child
from symbolizer.inspection.inspection import Inspection
from symbolizer.limited_child import run_child

_MIB: Final = 1 << 20
_GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class InspectionLimits:
    """Limits of one inspection. Measured: 0.1 to 0.3 s and 150 MiB resident, 3 s per GiB for the digests."""

    memory_bytes: int = 2 * _GIB
    """Address space; numpy takes a third of it before any file is read."""
    seconds_fixed: int = 20
    seconds_per_gib: int = 20
    """CPU time; the wall-clock limit is three times as long."""

    def seconds_for(self, size: int) -> int:
        """CPU seconds for a file of `size` bytes."""
        return self.seconds_fixed + self.seconds_per_gib * size // _GIB


@dataclass(frozen=True, slots=True)
class NotInspected:
    """Why a file cannot be used, as a sentence. A value, because a bad file is the sender's fault only."""

    reason: str


def inspect_in_child(path: Path, *, limits: InspectionLimits | None = None) -> Inspection | NotInspected:
    """Inspect a file in a separate process. Returns within the limits, whatever the file contains.

    Raises OSError if the file cannot be opened.
    """
    limits = limits or InspectionLimits()
    with OpenedFile(path) as content:
        seconds = limits.seconds_for(content.size)
        arguments = [str(content.descriptor), str(limits.memory_bytes), str(seconds)]
        ended = run_child(inspection_child, arguments, [content.descriptor], seconds=3 * seconds)
    if ended is None:
        return NotInspected(f"It was not read within {3 * seconds} s.")
    if ended.status == 0:
        try:
            return Inspection.from_json(ended.output.decode())
        except (ValueError, TypeError):
            return NotInspected("The result of its inspection cannot be read.")
    why = ended.last_error or "Its inspection gave no result."
    if ended.status == inspection_child.REFUSED:
        return NotInspected(why)
    if ended.status < 0:
        why = f"signal {-ended.status} within {seconds} CPU s and {limits.memory_bytes // _MIB} MiB"
    return NotInspected(f"Its inspection ended early ({why}).")
