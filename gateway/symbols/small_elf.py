"""Makes a small ELF file from a large one: everything that names its code, none of its code or data.

It keeps the ELF header, PT_LOAD and PT_NOTE headers, every section header, and the content of symbol and string tables,
notes, links to debug files, MiniDebugInfo (.gnu_debugdata), and the linkage table's stubs with their relocations. Other
sections become SHT_NOBITS, like those of `objcopy --only-keep-debug`, so section numbers in symbols stay valid. PT_LOAD
headers keep the original file offsets, by which frames are recorded.

Sans I/O: the caller passes `read(offset, size) -> bytes`. Files are hostile: every count and offset is checked against
the file's length and a limit.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from gateway.errors import BadImage
from gateway.symbols.content import PIECE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from gateway.unwind.elf import Read

MAX_SECTIONS: Final = 1 << 16
MAX_SEGMENTS: Final = 256
MAX_NAMES_BYTES: Final = 4 << 20
MAX_NOTE_BYTES: Final = 64 << 10
MAX_RELOCATION_BYTES: Final = 4 << 20
"""Relocations of data take many MB in large programs, and name nothing."""

_HEADER: Final = Struct("<16sHHIQQQIHHHHHH")
_SEGMENT: Final = Struct("<IIQQQQQQ")
_SECTION: Final = Struct("<IIQQQQIIQQ")
_PT_LOAD, _PT_NOTE = 1, 4
_SYMTAB, _RELA, _NOTE, _NOBITS, _DYNSYM, _SYMTAB_SHNDX = 2, 4, 7, 8, 11, 18
_EXTENDED: Final = 0xFFFF
_KEPT_NAMES: Final = frozenset(
    {
        b".gnu_debuglink",
        b".gnu_debugaltlink",
        b".gnu_debugdata",
        b".plt",
        b".plt.sec",
        b".plt.got",
    }
)
_LONGEST_NAME: Final = max(map(len, _KEPT_NAMES))
_PACED_STEPS: Final = 4096
"""Sections processed between pauses: a few ms of work."""

_T = TypeVar("_T")


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_bytes: int


class _Segment(NamedTuple):
    type: int
    flags: int
    offset: int
    address: int
    physical: int
    size: int
    memory: int
    align: int


class _Copied(NamedTuple):
    """`size` bytes at `offset` of the original lie at `target` of the small file."""

    offset: int
    size: int
    target: int


class SmallElf:
    """The layout of the small file; `pieces` reads the copied parts."""

    def __init__(self, read: Read, size: int, pause: Callable[[], None]) -> None:
        """`size` is the length of the original; `pause` is called between pieces of work. Raises BadImage."""
        self._read_some = read
        self._size = size
        self._pause = pause
        self._steps = 0
        header = list(_HEADER.unpack(self._read(0, _HEADER.size, "header")))
        sections = self._sections(header)
        segments = self._segments(header)
        names_at = header[13] if header[13] != _EXTENDED or not sections else sections[0].link
        kept = self._kept(sections, names_at)
        self._copied: list[_Copied] = []
        self._end = _HEADER.size + len(segments) * _SEGMENT.size
        placed = {
            index: self._copy(sections[index].offset, sections[index].size)
            for index in self._paced(sorted(kept))
        }
        moved = [
            segment if segment.type == _PT_LOAD else segment._replace(offset=self._place(segment))
            for segment in self._paced(segments)
        ]
        self._end = _aligned(self._end)
        header[5:7] = _HEADER.size if segments else 0, self._end if sections else 0
        header[9:11] = _SEGMENT.size, len(segments)
        self._head = _HEADER.pack(*header) + b"".join(_SEGMENT.pack(*segment) for segment in moved)
        self._tail = b"".join(
            _SECTION.pack(*_moved(section, placed.get(index), self._end))
            for index, section in self._paced(enumerate(sections))
        )

    @property
    def raw_bytes(self) -> int:
        """Length of the small file."""
        return self._end + len(self._tail)

    def pieces(self) -> Iterator[bytes]:
        """The small file, in pieces. Raises BadImage if the original has shrunk."""
        yield self._head
        at = len(self._head)
        for offset, size, target in self._copied:
            if target > at:
                yield bytes(target - at)
            for start in range(offset, offset + size, PIECE_BYTES):
                yield self._read(start, min(PIECE_BYTES, offset + size - start), "section")
            at = target + size
        tail = bytes(self._end - at) + self._tail
        for start in range(0, len(tail), PIECE_BYTES):
            yield tail[start : start + PIECE_BYTES]

    def _read(self, offset: int, size: int, what: str) -> bytes:
        data = self._read_some(offset, size) if offset + size <= self._size else b""
        if len(data) != size:
            raise BadImage(f"its {what} is cut off")
        return data

    def _paced(self, items: Iterable[_T]) -> Iterator[_T]:
        """Yield the items with occasional pauses: 256 segments are searched among 65,536 sections."""
        for item in items:
            self._steps += 1
            if self._steps % _PACED_STEPS == 0:
                self._pause()
            yield item

    def _sections(self, header: Sequence[int]) -> list[_Section]:
        offset, entry_bytes, count = header[6], header[11], header[12]
        if not offset:
            return []
        if entry_bytes != _SECTION.size:
            raise BadImage(f"section headers of {entry_bytes} bytes are not plausible")
        if not count:  # more than 65 279: the count is in the first one
            count = _Section(*_SECTION.unpack(self._read(offset, _SECTION.size, "section header"))).size
        if count > MAX_SECTIONS:
            raise BadImage(f"it claims {count} sections")
        raw = self._read(offset, count * _SECTION.size, "section headers")
        return [_Section(*fields) for fields in self._paced(_SECTION.iter_unpack(raw))]

    def _segments(self, header: Sequence[int]) -> list[_Segment]:
        offset, entry_bytes, count = header[5], header[9], header[10]
        if count and (entry_bytes != _SEGMENT.size or count > MAX_SEGMENTS):
            raise BadImage(f"{count} program headers of {entry_bytes} bytes are not plausible")
        raw = self._read(offset, count * _SEGMENT.size, "program headers")
        segments = [_Segment(*fields) for fields in _SEGMENT.iter_unpack(raw)]
        return [
            segment
            for segment in segments
            if segment.type == _PT_LOAD or (segment.type == _PT_NOTE and segment.size <= MAX_NOTE_BYTES)
        ]

    def _kept(self, sections: Sequence[_Section], names_at: int) -> set[int]:
        """Sections whose content is copied."""
        names = b""
        kept = set()
        if 0 < names_at < len(sections) and sections[names_at].type != _NOBITS:
            section = sections[names_at]
            if section.size > MAX_NAMES_BYTES:
                raise BadImage(f"its section names claim {section.size} bytes")
            names = self._read(section.offset, section.size, "section names")
            kept.add(names_at)
        for index, section in self._paced(enumerate(sections)):
            if section.type in {_SYMTAB, _DYNSYM}:
                kept |= {index, section.link}
            elif section.type == _SYMTAB_SHNDX:
                kept.add(index)
            elif section.type == _NOTE:
                kept |= {index} if section.size <= MAX_NOTE_BYTES else set()
            elif section.type == _RELA:
                linked = section.link < len(sections) and sections[section.link].type == _DYNSYM
                kept |= {index} if linked and section.size <= MAX_RELOCATION_BYTES else set()
            elif _name(names, section.name) in _KEPT_NAMES:
                kept.add(index)
        return {index for index in kept if 0 < index < len(sections) and sections[index].type != _NOBITS}

    def _copy(self, offset: int, size: int) -> int:
        """Plan to copy a range; returns its offset in the small file."""
        if offset + size > self._size:
            raise BadImage("a section ends beyond the file")
        target = self._end = _aligned(self._end)
        self._copied.append(_Copied(offset, size, target))
        self._end += size
        return target

    def _place(self, segment: _Segment) -> int:
        """Offset of a note segment: within a copied section, else in a copy of its own."""
        for offset, size, target in self._paced(self._copied):
            if offset <= segment.offset and segment.offset + segment.size <= offset + size:
                return target + segment.offset - offset
        return self._copy(segment.offset, segment.size)


def _moved(section: _Section, target: int | None, end: int) -> _Section:
    if target is not None:
        return section._replace(offset=target)
    if not section.type:  # the first one, which may hold counts
        return section
    return section._replace(type=_NOBITS, offset=end)


def _name(names: bytes, at: int) -> bytes:
    """The name at an offset, cut after the longest kept name: a name may be MBs long without a NUL."""
    return names[at : at + _LONGEST_NAME + 1].partition(b"\0")[0]


def _aligned(position: int) -> int:
    return (position + 7) & ~7
