"""Locates the parts of an ELF file that the gateway needs: code segments, .eh_frame_hdr, build ids.

Sans I/O: the caller passes `read(offset, size) -> bytes`, which may return less at the end of the file.
Files are read in pieces, never mapped: a file truncated while mapped kills the reader by SIGBUS.
Only program headers are read: section headers can be stripped, and the loader ignores them.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from gateway.errors import BadImage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Read: TypeAlias = "Callable[[int, int], bytes]"

_HEADER: Final = Struct("<16sHHIQQQIHHHHHH")
_PROGRAM_HEADER: Final = Struct("<IIQQQQQQ")
_NOTE: Final = Struct("<III")
_ELF64_LITTLE_ENDIAN: Final = b"\x7fELF\x02\x01"
_MACHINE_X86_64: Final = 62
_PT_LOAD: Final = 1
_PT_NOTE: Final = 4
_PT_GNU_EH_FRAME: Final = 0x6474E550
_PF_EXECUTE: Final = 1
_NT_GNU_BUILD_ID: Final = 3
_NT_GO_BUILD_ID: Final = 4

# One read brings the headers and, nearly always, the notes.
_HEAD_BYTES: Final = 4096
MAX_PROGRAM_HEADERS: Final = 256
MAX_NOTE_BYTES: Final = 64 << 10
_MAX_BUILD_ID_BYTES: Final = 64
_MAX_GO_BUILD_ID_BYTES: Final = 256


class Segment(NamedTuple):
    """A PT_LOAD segment: `size` bytes of the file at `offset` appear at virtual address `address`."""

    offset: int
    address: int
    size: int
    executable: bool


@dataclass(frozen=True, slots=True)
class ElfLayout:
    """Headers and notes of one ELF file. Offsets are file offsets, addresses are virtual."""

    segments: tuple[Segment, ...]
    # File offset of e_entry; -1 if it lies in no segment.
    entry_offset: int
    # File offset and size of .eh_frame_hdr; None: the file has none.
    eh_frame_hdr: tuple[int, int] | None
    # The GNU build id; empty: the file has none.
    build_id: bytes
    # The Go linker's own build id; empty: the file has none.
    go_build_id: bytes

    def code_address(self, offset: int) -> int | None:
        """Virtual address of the code at a file offset; None: that offset is not code."""
        for start, address, size, executable in self.segments:
            if executable and start <= offset < start + size:
                return address + offset - start
        return None

    def address(self, offset: int) -> int | None:
        """Virtual address of any loaded file offset; None: it is not loaded."""
        for start, address, size, _ in self.segments:
            if start <= offset < start + size:
                return address + offset - start
        return None

    def offset(self, address: int) -> int | None:
        """File offset of a virtual address; None: it is not backed by the file."""
        for offset, start, size, _ in self.segments:
            if start <= address < start + size:
                return offset + address - start
        return None


def read_layout(read: Read) -> ElfLayout:
    """Read headers and notes. Raises BadImage unless it is a valid 64-bit little-endian x86-64 ELF file."""
    head = read(0, _HEAD_BYTES)
    if head[:4] != _ELF64_LITTLE_ENDIAN[:4]:
        raise BadImage("not an ELF file")
    if head[:6] != _ELF64_LITTLE_ENDIAN:
        raise BadImage("not a 64-bit little-endian ELF file")
    if len(head) < _HEADER.size:
        raise BadImage("the ELF header is cut off")
    _, _, machine, _, entry, table, _, _, _, entry_size, count, *_ = _HEADER.unpack_from(head)
    if machine != _MACHINE_X86_64:
        raise BadImage(f"ELF machine {machine} is not x86-64")
    if entry_size != _PROGRAM_HEADER.size or not 0 < count <= MAX_PROGRAM_HEADERS:
        raise BadImage(f"{count} program headers of {entry_size} bytes are not plausible")

    def piece(offset: int, size: int) -> bytes:
        return head[offset : offset + size] if offset + size <= len(head) else read(offset, size)

    raw = piece(table, count * entry_size)
    if len(raw) != count * entry_size:
        raise BadImage("the program headers are cut off")

    segments = []
    hdr = None
    build_id = go_build_id = b""
    for kind, flags, offset, address, _, size, _, _ in _PROGRAM_HEADER.iter_unpack(raw):
        if kind == _PT_LOAD:
            segments.append(Segment(offset, address, size, bool(flags & _PF_EXECUTE)))
        elif kind == _PT_GNU_EH_FRAME:
            hdr = (offset, size)
        elif kind == _PT_NOTE and size <= MAX_NOTE_BYTES:
            for owner, note_type, value in _notes(piece(offset, size)):
                if owner == b"GNU\0" and note_type == _NT_GNU_BUILD_ID and len(value) <= _MAX_BUILD_ID_BYTES:
                    build_id = build_id or value
                elif (
                    owner == b"Go\0\0"
                    and note_type == _NT_GO_BUILD_ID
                    and len(value) <= _MAX_GO_BUILD_ID_BYTES
                ):
                    go_build_id = go_build_id or value
    layout = ElfLayout(tuple(segments), -1, hdr, build_id, go_build_id)
    entry_offset = layout.offset(entry) if entry else None  # a library has none
    return (
        layout
        if entry_offset is None
        else ElfLayout(layout.segments, entry_offset, hdr, build_id, go_build_id)
    )


def _notes(data: bytes) -> Iterator[tuple[bytes, int, bytes]]:
    """Yield (owner, type, value) of each complete note; a damaged one ends the list.

    The meaning of a type depends on the owner: type 3 is a build id only for GNU. Xen, FreeBSD and stapsdt use the
    same numbers for other notes.
    """
    position = 0
    while position + _NOTE.size <= len(data):
        owner_size, size, kind = _NOTE.unpack_from(data, position)
        position += _NOTE.size
        value_at = position + (owner_size + 3 & ~3)
        end = value_at + size
        if end > len(data):
            return
        yield data[position : position + owner_size], kind, data[value_at:end]
        position = end + 3 & ~3
