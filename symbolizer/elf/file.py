"""ELF files read with numpy: identity, segments, sections (System V ABI chapters 4 and 5, Linux gABI).

Strategy: bytes in, values out. The source is `bytes` or any object with a length that returns bytes for
a slice; nothing else is opened or followed. Every offset and count is checked against the length and
a limit before it is used. The only error is `MalformedElf`. 32 and 64 bits, both byte orders.
"""

import lzma
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Final

import numpy as np

from symbolizer.addresses import Segment, SegmentMap
from symbolizer.elf.compression import decompressed, gnu_decompressed
from symbolizer.elf.content import Source, Window
from symbolizer.elf.links import AltLink, DebugLink, alt_link_in, debug_link_in
from symbolizer.elf.notes import Note, build_id_in, notes_in
from symbolizer.elf.records import (
    ELFCOMPRESS_ZLIB,
    ELFCOMPRESS_ZSTD,
    ET_REL,
    NT_GO_BUILD_ID,
    PF_X,
    PN_XNUM,
    PT_LOAD,
    PT_NOTE,
    SHF_COMPRESSED,
    SHF_EXECINSTR,
    SHN_XINDEX,
    SHT_NOBITS,
    SHT_NOTE,
    SHT_PROGBITS,
    SHT_SYMTAB,
    Kind,
    Records,
    record,
)
from symbolizer.errors import MalformedElf

MAX_SEGMENTS: Final = 512
MAX_SECTIONS: Final = 1 << 18
MAX_SECTION_BYTES: Final = 1 << 30
MAX_NOTE_BYTES: Final = 1 << 16
MAX_NAMES_BYTES: Final = 1 << 24
MAX_EMBEDDED_BYTES: Final = 1 << 27
"""Unpacked bytes of an embedded file of symbols."""
_PACKED_BYTES: Final = 1 << 25
_XZ_MEMORY_BYTES: Final = 1 << 27
"""Memory of the decoder; `xz -9`, whose dictionary has 64 MiB, needs 65 MiB (xz(1))."""
MAX_SECTION_NAME: Final = 1 << 10
MAX_SYMBOLS: Final = 3 << 20
"""Entries of all symbol tables of a file; Chromium's, among the largest, has 1.5 million."""
MAX_STRING_BYTES: Final = 1 << 28
"""Bytes of all string tables of a file's symbols; those of rustc's compiler library, 165,000 symbols, have 20 MB."""
_STRING_BYTES_EACH: Final = 1 << 10
"""Bytes of a string table per symbol that uses it; compilers' mean is 50 to 150."""
_STRING_BYTES_FIXED: Final = 1 << 24
MAX_RELOCATIONS: Final = 1 << 22
MAX_TABLES: Final = 64
"""Sections of one type that are read: without a limit, many headers could refer to the same bytes."""
_STUBS: Final = (".plt", ".plt.sec", ".plt.got")
MAX_LINK_BYTES: Final = 1 << 13
MAX_CODE_BYTES: Final = 1 << 20
"""Of one read of instructions."""


class ElfFile:
    """One ELF file: its headers, and its sections on demand.

    The constructor raises `MalformedElf` for other files, and methods raise it for broken parts.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._length = len(source)
        ident = source[0:16]
        if ident[:4] != b"\x7fELF" or len(ident) < 16 or ident[4] not in {1, 2} or ident[5] not in {1, 2}:
            raise MalformedElf("It is not an ELF file.")
        self.bits: int = 32 * ident[4]
        self.order = "<" if ident[5] == 1 else ">"
        header = self._records("header", 16, 1)[0]
        self.type = int(header["type"])
        self.machine = int(header["machine"])
        self.sections = self._read_sections(header)
        self.segments = self._read_segments(header)
        self.names_index = int(header["shstrndx"])
        if self.names_index == SHN_XINDEX and len(self.sections):
            self.names_index = int(self.sections["link"][0])

    def _records(self, kind: Kind, offset: int, count: int) -> Records:
        dtype = record(kind, self.bits, self.order)
        return np.frombuffer(self._bytes(offset, count * dtype.itemsize, kind), dtype, count)

    def _bytes(self, offset: int, size: int, what: str, limit: int = MAX_SECTION_BYTES) -> bytes:
        if size > limit:
            raise MalformedElf(f"Its {what} claims {size} bytes; the limit is {limit}.")
        if offset + size > self._length:
            raise MalformedElf(
                f"Its {what} ends at byte {offset + size}, beyond the end of the file at {self._length}."
            )
        try:
            data = self._source[offset : offset + size]
        except OSError as error:  # a bad disk, a network file system whose server is gone
            raise MalformedElf(f"Cannot read its {what}: {error.strerror}.") from error
        if len(data) != size:
            raise MalformedElf(f"Cannot read its {what} in full: the file shrank.")
        return data

    def _read_segments(self, header: np.void) -> Records:
        count = int(header["phnum"])
        if count == PN_XNUM and len(self.sections):  # the count did not fit into the field
            count = int(self.sections["info"][0])
        if count > MAX_SEGMENTS:
            raise MalformedElf(f"It claims {count} segments; the limit is {MAX_SEGMENTS}.")
        return self._records("segment", int(header["phoff"]), count)

    def _read_sections(self, header: np.void) -> Records:
        offset, count = int(header["shoff"]), int(header["shnum"])
        if offset == 0:
            count = 0
        elif count == 0:  # more than 65 279 sections: the count is in the first one
            count = int(self._records("section", offset, 1)["size"][0])
        if count > MAX_SECTIONS:
            raise MalformedElf(f"It claims {count} sections; the limit is {MAX_SECTIONS}.")
        return self._records("section", offset, count)

    @cached_property
    def section_names(self) -> dict[str, int]:
        """Index of the first section of each name."""
        if self.names_index == 0 or self.names_index >= len(self.sections):
            return {}
        text = self._raw(self.names_index, MAX_NAMES_BYTES)
        names: dict[str, int] = {}
        total = 0
        for index, start in enumerate(self.sections["name"].tolist()):
            end = text.find(b"\0", start, start + MAX_SECTION_NAME)
            name = text[start : max(end, start)].decode("latin-1")
            total += len(name)
            if total > MAX_NAMES_BYTES:  # each is within its limit, but all may share the same bytes
                raise MalformedElf(f"The names of its sections exceed {MAX_NAMES_BYTES} bytes.")
            names.setdefault(name, index)
        return names

    @cached_property
    def segment_map(self) -> SegmentMap:
        """PT_LOAD headers, in file order. Raises `MalformedElf` if one leaves the address space."""
        loads = self.segments[self.segments["type"] == PT_LOAD]
        for start, size in ((loads["offset"], loads["filesz"]), (loads["vaddr"], loads["filesz"])):
            if (start + size < start).any():
                raise MalformedElf("One of its segments exceeds the address space.")
        return SegmentMap(
            tuple(
                Segment(int(s["offset"]), int(s["vaddr"]), int(s["filesz"]), bool(s["flags"] & PF_X))
                for s in loads
            )
        )

    def _raw(self, index: int, limit: int = MAX_SECTION_BYTES) -> bytes:
        section = self.sections[index]
        if section["type"] == SHT_NOBITS:
            return b""
        return self._bytes(int(section["offset"]), int(section["size"]), f"section {index}", limit)

    def data(self, name: str, *, limit: int = MAX_SECTION_BYTES) -> bytes | None:
        """Content of a section, decompressed; b"" if it occupies no file space, None if there is none.

        Raises `MalformedElf`, also if it has more than `limit` bytes.
        """
        index = self.section_names.get(name)
        if index is None:
            return None
        if name.startswith(".zdebug_") or self._is_compressed(index):
            return self._unpacked(index, limit, whole=True)
        return self._raw(index, limit)

    def part(self, name: str, *, limit: int) -> Source | None:
        """Content of a section by position, read on access; None if it does not exist.

        Of a compressed section only the first `limit` bytes. Raises `MalformedElf`.
        """
        index = self.section_names.get(name)
        if index is None or self.sections["type"][index] == SHT_NOBITS:
            return None
        if name.startswith(".zdebug_") or self._is_compressed(index):
            return self._unpacked(index, limit, whole=False)
        return self._window(index)

    def _window(self, index: int) -> Window:
        offset, size = int(self.sections["offset"][index]), int(self.sections["size"][index])
        return Window(self._source, offset, min(size, max(self._length - offset, 0)))

    def _unpacked(self, index: int, limit: int, *, whole: bool) -> bytes:
        data = self._window(index)
        if not data.size or self.sections["type"][index] == SHT_NOBITS:
            return b""
        if self._is_compressed(index):
            return decompressed(data, self.bits, self.order, limit=limit, whole=whole)
        return gnu_decompressed(data, limit=limit, whole=whole)

    def _is_compressed(self, index: int) -> bool:
        return bool(int(self.sections["flags"][index]) & SHF_COMPRESSED)

    @cached_property
    def compression(self) -> tuple[str, ...]:
        """Compression methods of its sections, ascending: zlib, zlib-gnu, zstd, or a number."""
        flagged = [
            index for index, flags in enumerate(self.sections["flags"].tolist()) if flags & SHF_COMPRESSED
        ]
        methods = {self._method(index) for index in flagged[:MAX_TABLES]}
        if any(name.startswith(".zdebug_") for name in self.section_names):
            methods.add("zlib-gnu")
        return tuple(sorted(methods))

    def _method(self, index: int) -> str:
        at = int(self.sections["offset"][index])
        method = int.from_bytes(self._source[at : at + 4], "little" if self.order == "<" else "big")
        return {ELFCOMPRESS_ZLIB: "zlib", ELFCOMPRESS_ZSTD: "zstd"}.get(method, f"method {method}")

    def raw_section(self, index: int) -> bytes:
        """A section's bytes as stored in the file. Raises `MalformedElf`."""
        if not 0 <= index < len(self.sections):
            raise MalformedElf(f"It has no section {index}.")
        return self._raw(index)

    def code_at(self, address: int, size: int) -> bytes:
        """Up to `size` bytes of instructions at a virtual address, to the end of their section.

        b"" if the file does not contain them: a debug file has the section, but not its content. Raises
        `MalformedElf`, also for more than `MAX_CODE_BYTES`.
        """
        by_section = len(self.sections) > 0
        places = self.sections if by_section else self.segments
        for place in places[(places["flags"] & (SHF_EXECINSTR if by_section else PF_X)) != 0]:
            start = int(place["addr" if by_section else "vaddr"])
            length = int(place["size" if by_section else "filesz"])
            if not start <= address < start + length:
                continue
            is_packed = by_section and bool(int(place["flags"]) & SHF_COMPRESSED)
            if is_packed or self.type == ET_REL or (by_section and place["type"] != SHT_PROGBITS):
                return b""
            inside = address - start
            return self._bytes(
                int(place["offset"]) + inside, min(size, length - inside), "code", MAX_CODE_BYTES
            )
        return b""

    def has_content(self, name: str) -> bool:
        """Whether a section of that name occupies file space."""
        index = self.section_names.get(name)
        return (
            index is not None
            and self.sections["type"][index] != SHT_NOBITS
            and self.sections["size"][index] > 0
        )

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """All notes, by section, or by segment in a file without sections (the vdso of some kernels)."""
        places = self.sections[self.sections["type"] == SHT_NOTE]
        sizes = places["size"]
        if not len(places):
            places = self.segments[self.segments["type"] == PT_NOTE]
            sizes = places["filesz"]
        found: list[Note] = []
        for place, size in list(zip(places, sizes.tolist(), strict=True))[:MAX_TABLES]:
            if size <= MAX_NOTE_BYTES:  # larger ones contain no identity (Android, core files)
                data = self._bytes(int(place["offset"]), size, "note")
                found += notes_in(data, align=int(place["align"]), order=self.order)
        return tuple(found)

    @property
    def build_id(self) -> bytes:
        """GNU build-id; b"" if there is none."""
        return build_id_in(self.notes)

    @property
    def go_build_id(self) -> str:
        """Go's own build-id, the identity of Go programs, which have no GNU one; '' if there is none."""
        payload = next((n.payload for n in self.notes if n.owner == b"Go" and n.type == NT_GO_BUILD_ID), b"")
        return payload.decode("utf-8", "replace")

    @property
    def debug_link(self) -> DebugLink | None:
        """The file that received the debug data when this one was stripped; None: not stated."""
        data = self.data(".gnu_debuglink", limit=MAX_LINK_BYTES) or b""
        return debug_link_in(data, "little" if self.order == "<" else "big")

    @property
    def alt_link(self) -> AltLink | None:
        """The file with the names of its inlined functions (DWARF 5 §7.3.6); None: they are in this file."""
        return alt_link_in(self.data(".gnu_debugaltlink", limit=MAX_LINK_BYTES) or b"")

    @property
    def embedded_symbols(self) -> "ElfFile | None":
        """The small ELF file in .gnu_debugdata (Fedora's MiniDebugInfo); None: there is none."""
        data = self.data(".gnu_debugdata", limit=_PACKED_BYTES)
        if not data:
            return None
        decompressor = lzma.LZMADecompressor(memlimit=_XZ_MEMORY_BYTES)
        try:
            return ElfFile(decompressor.decompress(data, MAX_EMBEDDED_BYTES))
        except (lzma.LZMAError, EOFError) as error:
            raise MalformedElf(f"Cannot decompress its .gnu_debugdata: {error}.") from error

    @property
    def has_dwarf(self) -> bool:
        """Whether this file has functions, lines and inlined calls."""
        return self.has_content(".debug_info") or self.has_content(".zdebug_info")

    @property
    def has_debug_sections(self) -> bool:
        """Whether it has debug data of any kind: a file made by `dwz -m` may have only strings."""
        return any(
            name.startswith((".debug_", ".zdebug_")) and self.has_content(name) for name in self.section_names
        )

    @property
    def has_layout(self) -> bool:
        """Whether its segments are those of the executable, which map the executable's offsets to addresses.

        `objcopy --only-keep-debug` leaves segments without bytes in the file, at other offsets.
        """
        code = (self.segments["type"] == PT_LOAD) & ((self.segments["flags"] & PF_X) != 0)
        return bool((self.segments["filesz"][code] > 0).any())

    @property
    def has_code(self) -> bool:
        """Whether it has sections of instructions, even empty ones."""
        return bool(((self.sections["flags"] & SHF_EXECINSTR) != 0).any())

    @property
    def is_emptied(self) -> bool:
        """Whether its code was removed (`objcopy --only-keep-debug`, `eu-strip -f`).

        A gateway keeps the stubs of the procedure linkage table, because they show which function each one calls.
        """
        is_code = (self.sections["flags"] & SHF_EXECINSTR) != 0
        is_code[[self.section_names[name] for name in _STUBS if name in self.section_names]] = False
        return bool(is_code.any()) and bool((self.sections["type"][is_code] == SHT_NOBITS).all())

    def symbols(
        self, kind: int, *, most: int = MAX_SYMBOLS, string_bytes: int = MAX_STRING_BYTES
    ) -> list[tuple[Records, bytes]]:
        """Symbol tables of a section type (`SHT_SYMTAB`, `SHT_DYNSYM`), each with its string table.

        Raises `MalformedElf`, also for more than `most` symbols or `string_bytes` of string tables, before reading any.
        """
        indexes = self._of_type(kind)
        links = self.sections["link"][indexes].tolist()
        in_file = np.where(self.sections["type"] == SHT_NOBITS, 0, self.sections["size"])
        counts = in_file[indexes] // record("symbol", self.bits, self.order).itemsize
        if counts.sum(dtype=np.float64) > most:
            raise MalformedElf(f"Its symbol tables together have more than {most} symbols.")
        by_link: Counter[int] = Counter()
        for index, link, count in zip(indexes, links, counts.tolist(), strict=True):
            if link >= len(self.sections):
                raise MalformedElf(f"Symbol table {index} refers to section {link}, which does not exist.")
            by_link[link] += count
        sizes = {link: int(in_file[link]) for link in by_link}
        if sum(sizes.values()) > string_bytes:
            raise MalformedElf(
                f"The names of its symbols have {sum(sizes.values())} bytes; the limit is {string_bytes}."
            )
        for link, size in sizes.items():
            if size > _STRING_BYTES_FIXED + _STRING_BYTES_EACH * by_link[link]:
                raise MalformedElf(f"It has {size} bytes of names for {by_link[link]} symbols.")
        texts = {link: self._raw(link) for link in by_link}
        return [
            (self._table("symbol", index, MAX_SYMBOLS), texts[link])
            for index, link in zip(indexes, links, strict=True)
        ]

    def relocations(self, kind: int) -> Iterator[Records]:
        """Relocation tables of a section type (`SHT_RELA`), read one by one on iteration. Raises `MalformedElf`."""
        left = MAX_RELOCATIONS
        for index in self._of_type(kind):
            table = self._table("relocation", index, left)
            left -= len(table)
            yield table

    @property
    def has_symbol_table(self) -> bool:
        """Whether it has more symbols than it exports."""
        return bool((self.sections["type"] == SHT_SYMTAB).any())

    def _of_type(self, kind: int) -> list[int]:
        indexes = np.flatnonzero(self.sections["type"] == kind)
        if len(indexes) > MAX_TABLES:
            raise MalformedElf(f"It has {len(indexes)} sections of type {kind}; the limit is {MAX_TABLES}.")
        return [int(index) for index in indexes]

    def _table(self, kind: Kind, index: int, limit: int) -> Records:
        dtype = record(kind, self.bits, self.order)
        data = self._raw(index, limit * dtype.itemsize)
        return np.frombuffer(data, dtype, len(data) // dtype.itemsize)
