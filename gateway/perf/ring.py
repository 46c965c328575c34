"""The ring buffer that the kernel writes samples into (perf_event_open(2), "MMAP layout").

One header page, then a power of two of data bytes. The kernel advances `data_head`, the reader `data_tail`. The
header's words are read and written through ctypes, one aligned load or store each: `struct` copies byte by byte and
may see half of an update. x86-64 keeps loads in order and stores in order, so the compiler's order is enough; arm64
would need a load-acquire of head and a store-release of tail, which Python cannot express:
`host.require_supported` refuses such machines.
"""

import contextlib
import ctypes
import mmap
import struct
from collections.abc import Iterator
from typing import Final

from gateway.errors import GatewayError

_HEAD: Final = 1024
_TAIL: Final = 1032
_HEADER_BYTES: Final = 8
_SIZE_AT: Final = 6
_size: Final = struct.Struct("<H").unpack_from


class Ring:
    """The mapped ring of one descriptor. Records are read in place and freed by `release`."""

    def __init__(self, descriptor: int, data_bytes: int) -> None:
        """Map it; OSError EPERM if RLIMIT_MEMLOCK is exhausted. `data_bytes` is a power of two of pages."""
        page = mmap.PAGESIZE
        self.data_bytes: Final = data_bytes
        self._mask: Final = data_bytes - 1
        self._memory = mmap.mmap(descriptor, page + data_bytes, mmap.MAP_SHARED)
        self._head = ctypes.c_uint64.from_buffer(self._memory, _HEAD)
        self._tail = ctypes.c_uint64.from_buffer(self._memory, _TAIL)
        self._data = memoryview(self._memory)[page:]

    def records(self) -> Iterator[tuple[int, memoryview]]:
        """Every record written so far: the position after it, and its bytes with the header.

        The bytes stay valid until that position is released. A record that wraps is copied.
        """
        position, head = self._tail.value, self._head.value
        data, mask, data_bytes = self._data, self._mask, self.data_bytes
        if head - position > data_bytes:
            raise GatewayError(
                f"the kernel's ring seems to have {head - position} bytes; its head was misread"
            )
        while position < head:
            start = position & mask
            # perf_event_header: type u32, misc u16, size u16; records are 8-byte aligned, so it never wraps
            size: int = _size(data, start + _SIZE_AT)[0]
            if size < _HEADER_BYTES:
                raise GatewayError(f"the kernel's ring holds a record of {size} bytes; its head was misread")
            position += size
            end = start + size
            if end <= data_bytes:
                yield position, data[start:end]
            else:
                yield position, memoryview(bytes(data[start:]) + bytes(data[: end - data_bytes]))

    def release(self, position: int) -> None:
        """Let the kernel overwrite everything before the position."""
        self._tail.value = position

    @property
    def head(self) -> int:
        """Position behind the last record: bytes written since the ring was mapped."""
        return self._head.value

    @property
    def tail(self) -> int:
        """Position up to which records were released: bytes read since the ring was mapped."""
        return self._tail.value

    def close(self) -> None:
        """Unmap it. A view from `records` that is still referenced, as by a traceback, keeps the memory mapped."""
        del self._head, self._tail
        with contextlib.suppress(BufferError):
            self._data.release()
            self._memory.close()
