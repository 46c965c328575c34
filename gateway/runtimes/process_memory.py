"""Bounded reads of another process's memory that cannot block on a program of its user.

Any user can map a file of a file system that a program serves (FUSE); a reader of such a page blocks. So a read covers
only anonymous memory and files that the kernel serves (`file_systems.served_by_kernel`); the mapping is looked up right
before, by PROCMAP_QUERY, or in the mappings as read once per drain on kernels before 6.11. A mapping made in between,
or memory served by userfaultfd, can still block, as for `Images.read_memory`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from typing import TYPE_CHECKING, Final

from gateway.errors import AccessDenied, GatewayError, ProcessGone
from gateway.process.file_systems import served_by_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

# linux/fs.h: _IOWR('f', 17, struct procmap_query); without flags it finds the mapping that covers the address.
_PROCMAP_QUERY: Final = 0xC0686611
_QUERY: Final = struct.Struct("=9Q4I2Q")
_MAX_TEXT_BYTES: Final = 16 << 20
_MAX_READ: Final = 4 << 20
_MAX_PIECES: Final = 64

# Per process and drain (0.5 s).
_DRAIN_READS: Final = 6000
_DRAIN_BYTES: Final = 16 << 20
# Units of decoding, of some 0.3 µs each.
_DRAIN_WORK: Final = 300_000
# Of all processes of a capture.
_CAPTURE_READS: Final = 400_000
_CAPTURE_BYTES: Final = 1 << 30


class Unreadable(GatewayError):
    """Memory that is not mapped, not safe to read, or beyond the budget. No action."""


class OverBudget(Unreadable):
    """The process, or the capture, used up its reads."""


class CaptureBudget:
    """What one capture may still read of all processes."""

    __slots__ = ("bytes", "reads")

    def __init__(self, reads: int = _CAPTURE_READS, size: int = _CAPTURE_BYTES) -> None:
        self.reads = reads
        self.bytes = size


class ProcessMemory:
    """The memory of the program that a process runs when this is made; after an exec every read fails. Close it."""

    def __init__(
        self, pid: int, budget: CaptureBudget, *, safe: frozenset[tuple[int, int]] = frozenset()
    ) -> None:
        """`safe` are devices of files that `file_candidates` opened: it knows more ways to find out that they are.

        Raises ProcessGone and AccessDenied.
        """
        self._budget = budget
        served = served_by_kernel(pid)
        self._served: Callable[[tuple[int, int]], bool] = lambda device: device in safe or served(device)
        self._ranges: list[tuple[int, int, bool]] | None = None
        self._reads = _DRAIN_READS
        self._bytes = _DRAIN_BYTES
        self._work = _DRAIN_WORK
        self.over_budget = False
        """Whether a read was refused for lack of budget."""
        self._maps = self._memory = -1
        try:
            # The mappings first: if the process execs in between, it is the new program's memory that is checked.
            self._memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
            self._maps = os.open(f"/proc/{pid}/maps", os.O_RDONLY | os.O_CLOEXEC)
        except (FileNotFoundError, ProcessLookupError) as reason:
            self.close()
            raise ProcessGone(f"process {pid} has ended") from reason
        except OSError as reason:
            self.close()
            raise AccessDenied(f"no access to the memory of process {pid}: {reason.strerror}") from reason

    def close(self) -> None:
        """Close the descriptors; every later read fails."""
        for descriptor in (self._memory, self._maps):
            if descriptor >= 0:
                os.close(descriptor)
        self._memory = self._maps = -1

    def begin_drain(self) -> None:
        """Renew the budget of the process."""
        self._reads = _DRAIN_READS
        self._bytes = _DRAIN_BYTES
        self._work = _DRAIN_WORK
        self._ranges = None

    def charge(self, work: int) -> None:
        """Count work on what was read, in table entries or bytes of a compressed table. Raises OverBudget."""
        if self._work < work:
            self.over_budget = True
            raise OverBudget("the budget for decoding this process's memory is used up")
        self._work -= work

    def read(self, address: int, size: int) -> bytes:
        """Exactly `size` bytes. Raises Unreadable."""
        if not 0 <= size <= _MAX_READ or not 0 < address < (1 << 47) - size:
            raise Unreadable(f"{size} bytes at {address:#x} are out of bounds")
        self._spend(size)
        at = address
        end = address + size
        for _ in range(_MAX_PIECES):
            if at >= end:
                break
            at = self._readable_until(at)
        else:
            raise Unreadable(f"the {size} bytes at {address:#x} lie in too many mappings")
        try:
            data = os.pread(self._memory, size, address)
        except OSError as reason:
            raise Unreadable(f"{size} bytes at {address:#x} cannot be read: {reason.strerror}") from reason
        if len(data) != size:
            raise Unreadable(f"{size} bytes at {address:#x} cannot be read: only {len(data)} are there")
        return data

    def _spend(self, size: int) -> None:
        budget = self._budget
        if self._reads <= 0 or self._bytes < size or budget.reads <= 0 or budget.bytes < size:
            self.over_budget = True
            raise OverBudget("the budget for reads of this process's memory is used up")
        self._reads -= 1
        self._bytes -= size
        budget.reads -= 1
        budget.bytes -= size

    def _readable_until(self, address: int) -> int:
        """End of the mapping at an address, if reading it cannot block. Raises Unreadable."""
        query = bytearray(_QUERY.pack(_QUERY.size, 0, address, *(0,) * 12))
        try:
            fcntl.ioctl(self._maps, _PROCMAP_QUERY, query)
        except OSError as reason:
            if reason.errno == errno.ENOTTY:
                return self._readable_by_text(address)
            raise Unreadable(f"no mapping at {address:#x}") from reason
        except ValueError as reason:
            raise Unreadable("the memory was closed") from reason
        _, _, _, _, end, _, _, _, inode, major, minor, *_ = _QUERY.unpack(query)
        if (inode or major or minor) and not self._served((major, minor)):
            raise Unreadable(f"the file mapped at {address:#x} may be served by a program")
        return int(end)

    def _readable_by_text(self, address: int) -> int:
        if self._ranges is None:
            self._ranges = self._read_ranges()
        for start, end, readable in self._ranges:
            if start <= address < end and readable:
                return end
        raise Unreadable(f"no readable mapping at {address:#x}")

    def _read_ranges(self) -> list[tuple[int, int, bool]]:
        ranges = []
        text = bytearray()
        while len(text) < _MAX_TEXT_BYTES and (piece := os.pread(self._maps, 1 << 16, len(text))):
            text += piece
        for line in text.split(b"\n"):
            fields = line.split(None, 5)
            try:
                start, _, end = fields[0].partition(b"-")
                major, _, minor = fields[3].partition(b":")
                device = int(major, 16), int(minor, 16)
                safe = not (any(device) or int(fields[4])) or self._served(device)
                ranges.append((int(start, 16), int(end, 16), safe))
            except (ValueError, IndexError):
                continue
        return ranges
