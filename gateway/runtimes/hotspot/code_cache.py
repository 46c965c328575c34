"""Finds the code blob that contains an address: code heap, segment map, block, blob."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from gateway.runtimes.hotspot.errors import Damaged

if TYPE_CHECKING:
    from gateway.runtimes.hotspot.layout import Layout
    from gateway.runtimes.hotspot.vm_structs import Read

_MAX_HEAPS: Final = 8
_MAX_HOPS: Final = 4096
_LONGEST_HOP: Final = 255
_SEGMENTS_AT_ONCE: Final = 4096
_FREE: Final = 0xFF
_HEAP_BYTES: Final = 1 << 32
_MAX_BLOB: Final = 64 << 20
_MAX_FRAME_WORDS: Final = 1 << 16
_NAME_BYTES: Final = 64
_PAGE: Final = 4096


class _Heap(NamedTuple):
    address: int
    start: int
    end: int
    segments: int
    log2_segment: int


class Blob(NamedTuple):
    """One blob. `header` are the first bytes of it, as many as an nmethod has; frame sizes are in words."""

    start: int
    end: int
    code_begin: int
    code_end: int
    name: str
    frame_words: int
    frame_complete: int
    header: bytes

    @property
    def is_compiled(self) -> bool:
        """Whether it is an nmethod that a compiler made of bytecodes."""
        return self.name == "nmethod"

    @property
    def is_native_wrapper(self) -> bool:
        """Whether it is an nmethod that calls a native method."""
        return self.name == "native nmethod"


class CodeCache:
    """The code cache of one JVM. All methods raise Damaged and what `read` raises."""

    def __init__(self, layout: Layout, read: Read) -> None:
        self._layout = layout
        self._read = read
        self._names: dict[int, str] = {}
        self._heaps = self._read_heaps()
        self._starts = [heap.start for heap in self._heaps]
        # A heap grows: its end is read again, at most once per refresh, if an address lies above it.
        self.low = min((heap.start for heap in self._heaps), default=0)

    def refresh(self) -> None:
        """Read the heaps' ends again."""
        self._heaps = self._read_heaps()
        self._starts = [heap.start for heap in self._heaps]

    def contains(self, address: int) -> bool:
        """Whether an address lies in a code heap."""
        return self._heap_of(address) is not None

    def find(self, address: int) -> Blob | None:
        """The blob at an address; None: there is none."""
        heap = self._heap_of(address)
        if heap is None:
            return None
        layout = self._layout.heap
        segment = (address - heap.start) >> heap.log2_segment
        segment = self._first_segment(heap, segment)
        if segment < 0:
            return None
        block = heap.start + (segment << heap.log2_segment)
        start = block + layout.block_bytes
        size = self._layout.nmethod.header_bytes
        data = self._read(block, layout.block_bytes + size)
        if not layout.block_used.of(data):
            return None
        return self._blob(start, data[layout.block_bytes :], heap)

    def header(self, blob: Blob) -> bytes:
        """The bytes of `Blob.header` as they are now; Damaged if its block is free."""
        layout = self._layout.heap
        data = self._read(blob.start - layout.block_bytes, layout.block_bytes + len(blob.header))
        if not layout.block_used.of(data):
            raise Damaged(f"the block at {blob.start:#x} is free")
        return data[layout.block_bytes :]

    def _blob(self, start: int, header: bytes, heap: _Heap) -> Blob:
        layout = self._layout.blob
        size = layout.size.of(header)
        end = start + size
        if layout.code_begin and layout.code_end:
            begin, code_end = layout.code_begin.of(header), layout.code_end.of(header)
        elif layout.code_begin:
            begin, code_end = layout.code_begin.of(header), start + layout.data_offset.of(header)
        else:
            assert layout.code_offset is not None
            begin, code_end = start + layout.code_offset.of(header), start + layout.data_offset.of(header)
        # Code that keeps no frame of a constant size has −1.
        frame = max(0, layout.frame_size.of(header))
        if not 0 < size <= _MAX_BLOB or end > heap.end or not start < begin <= code_end <= end:
            raise Damaged(f"a blob of {size} bytes at {start:#x} is not plausible")
        if frame > _MAX_FRAME_WORDS:
            raise Damaged(f"a frame of {frame} words is not plausible")
        name = self._name(layout.name.of(header))
        complete = layout.frame_complete.of(header)
        return Blob(start, end, begin, code_end, name, frame, complete, header)

    def _name(self, address: int) -> str:
        name = self._names.get(address)
        if name is None:
            if len(self._names) >= _MAX_HOPS:
                self._names.clear()
            name = self._names[address] = self._text(address) if address else ""
        return name

    def _text(self, address: int) -> str:
        """The beginning of a C string; it may end right before memory that is not mapped."""
        size = min(_NAME_BYTES, -address & _PAGE - 1)
        text = self._read(address, size) if size else b""
        if size < _NAME_BYTES and b"\0" not in text:
            text += self._read(address + size, _NAME_BYTES - size)
        name = text.partition(b"\0")[0].decode("utf-8", "replace")
        return name if name.isprintable() else ""

    def _first_segment(self, heap: _Heap, segment: int) -> int:
        """The first segment of a block; −1: free. Each entry counts segments back, at most 254 at a time."""
        start = max(0, segment - _SEGMENTS_AT_ONCE)
        data = self._read(heap.segments + start, segment - start + 1)
        for _ in range(_MAX_HOPS):
            hop = data[segment - start]
            if hop == _FREE:
                return -1
            if not hop:
                return segment
            segment -= hop
            if segment < 0:
                break
            if segment < start:
                start = max(0, segment - _SEGMENTS_AT_ONCE)
                data = self._read(heap.segments + start, segment - start + 1)
        raise Damaged("the code heap's segment map has a cycle")

    def _heap_of(self, address: int) -> _Heap | None:
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        heap = self._heaps[index]
        return heap if address < heap.end else None

    def _read_heaps(self) -> list[_Heap]:
        layout = self._layout.heap
        read = self._read
        if layout.heaps is not None:
            array = int.from_bytes(read(layout.heaps.address, 8), "little")
            if not array:
                return []
            length = layout.array_length.of(read(array, 16))
            if not 0 < length <= _MAX_HEAPS:
                raise Damaged(f"{length} code heaps are not plausible")
            data_at = int.from_bytes(read(array + layout.array_data, 8), "little")
            pointers = read(data_at, 8 * length)
            addresses = [int.from_bytes(pointers[at : at + 8], "little") for at in range(0, len(pointers), 8)]
        else:
            assert layout.heap is not None
            addresses = [int.from_bytes(read(layout.heap.address, 8), "little")]
        return sorted(
            (self._read_heap(address) for address in addresses if address), key=lambda heap: heap.start
        )

    def _read_heap(self, address: int) -> _Heap:
        layout = self._layout.heap
        size = max(layout.memory, layout.segment_map, layout.log2_segment.offset) + 64
        data = self._read(address, size)
        start = layout.low.of(data, layout.memory)
        end = layout.high.of(data, layout.memory)
        segments = layout.low.of(data, layout.segment_map)
        log2_segment = layout.log2_segment.of(data)
        if not 3 <= log2_segment <= 16 or not 0 <= end - start <= _HEAP_BYTES:
            raise Damaged("a code heap's bounds are not plausible")
        return _Heap(address, start, end, segments, log2_segment)
