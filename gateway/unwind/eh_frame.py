"""Finds the unwind rule of a file offset: bisects .eh_frame_hdr and evaluates one entry.

Memory holds only the sorted table of .eh_frame_hdr (LSB 5 section 10.6.2), 8 bytes an entry; entries are read when
needed. Rules are cached by file offset, which is the same in every process that maps the file.
"""

from __future__ import annotations

from bisect import bisect_right
from struct import Struct
from typing import TYPE_CHECKING, Final

from gateway.errors import BadImage
from gateway.unwind.cfi import Cie, Entry, cie_distance, entry_length, evaluate, read_cie
from gateway.unwind.eh_frame_scan import MAX_SECTION_BYTES, find_eh_frame, scan
from gateway.unwind.rules import NO_ENTRY_RULE, OUTERMOST_RULE, SIGNAL_RULE, UNUSABLE_RULE, Rule, compile_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateway.unwind.elf import ElfLayout, Read

# Chrome, the largest program commonly met, has 0.8 M entries.
MAX_TABLE_BYTES: Final = 16 << 20
# Cached rules and entries; a full cache is cleared, which costs one more evaluation of each.
_MAX_KEPT_RULES: Final = 1 << 15
_MAX_KEPT_ENTRIES: Final = 1 << 12
# One read covers all but a handful of the entries of any program.
_ENTRY_BYTES: Final = 512
# ld.so's _start and _dl_start_user, which have no entry, end 61 bytes after e_entry (glibc 2.36).
_ENTRY_POINT_BYTES: Final = 64

_HDR: Final = Struct("<BBBB")
_HDR_VERSION: Final = 1
_UDATA4: Final = 0x03
_DATA_RELATIVE_SDATA4: Final = 0x3B
_DATA_RELATIVE_SDATA8: Final = 0x3C
# Encodings of the pointer to .eh_frame with 4 and 8 bytes; its value is not needed.
_FRAME_POINTER_BYTES: Final = {
    0x1B: 4,
    0x3B: 4,
    0x03: 4,
    0x0B: 4,
    0x1C: 8,
    0x3C: 8,
    0x04: 8,
    0x0C: 8,
    0x00: 8,
}


class UnwindTable:
    """The unwind rules of one image, found on demand. Not thread-safe.

    `why` is the reason, for a person, why there are no rules; empty: there are. It is final after the first query,
    because nothing is read before.
    """

    def __init__(self, layout: ElfLayout | None, read: Read, *, why: str = "", readable: bool = True) -> None:
        """Unwind by `layout`, reading through `read`.

        Without a layout there are no entries. Code of an unreadable file (`readable` False) may have entries, so its
        frames are UNUSABLE; code of a file that is not ELF has none: NO_ENTRY.
        """
        self._layout = layout
        self._read = read
        self.why = why
        self.entries_evaluated = 0
        self.damaged_entries = 0
        self.table_bytes = 0
        self._rules: dict[int, Rule] = {}
        # A query for a rule is followed by one for the function's start; the search is expensive in cold memory.
        self._functions: dict[int, int | None] = {}
        self._entries: dict[int, Entry | None] = {}
        self._cies: dict[int, Cie] = {}
        self._starts: Sequence[int] = ()
        self._frames: Sequence[int] = ()
        self._base = 0
        self._loaded = layout is None
        self._otherwise = NO_ENTRY_RULE if readable else UNUSABLE_RULE

    def rule(self, offset: int) -> Rule:
        """Return the rule for the instruction at a file offset. Never raises, whatever the file contains."""
        rule = self._rules.get(offset)
        if rule is None:
            if len(self._rules) >= _MAX_KEPT_RULES:
                self._rules.clear()
                self._functions.clear()
            rule = self._rules[offset] = self._find(offset)
        return rule

    def function_start(self, offset: int) -> int | None:
        """Return the file offset at which the entry that covers `offset` begins; None: no entry covers it.

        It is never above `offset`.
        """
        if offset in self._functions:
            return self._functions[offset]
        found = self._covering(offset)
        return None if found is None else self._start(found[0], offset)

    def _start(self, entry: Entry | None, offset: int) -> int | None:
        if entry is None or self._layout is None:
            return None
        start = self._layout.offset(entry.start)
        # An entry of a hostile file may begin in a segment that is lower in memory but higher in the file.
        return start if start is not None and start <= offset else None

    def _find(self, offset: int) -> Rule:
        found = self._covering(offset)
        if found is None:
            self._functions[offset] = None
            return self._without_entry(offset)
        entry, address = found
        self._functions[offset] = self._start(entry, offset)
        if entry is None:
            return UNUSABLE_RULE
        row = bisect_right(entry.starts, address) - 1
        if row < 0:
            return UNUSABLE_RULE
        return SIGNAL_RULE if entry.signal_frame else compile_row(entry.rows[row])

    def _without_entry(self, offset: int) -> Rule:
        if self._layout is not None:
            start = self._layout.entry_offset
            if 0 <= start <= offset < start + _ENTRY_POINT_BYTES:
                return OUTERMOST_RULE
        return self._otherwise

    def _covering(self, offset: int) -> tuple[Entry | None, int] | None:
        """Return the entry that covers a file offset, and the offset's virtual address.

        None: no entry covers it. An entry of None: the covering entry is damaged.
        """
        if not self._loaded:
            self._load()
        if self._layout is None or not self._starts:
            return None
        address = self._layout.code_address(offset)
        if address is None:
            return None
        index = bisect_right(self._starts, address - self._base) - 1
        if index < 0:
            return None
        if index in self._entries:
            entry = self._entries[index]
        else:
            if len(self._entries) >= _MAX_KEPT_ENTRIES:
                self._entries.clear()
            entry = self._entries[index] = self._evaluate(self._base + self._frames[index])
        if entry is not None and not entry.start <= address < entry.end:
            return None
        return entry, address

    def _evaluate(self, address: int) -> Entry | None:
        """Evaluate the entry at a virtual address; a damaged one is counted and gives None."""
        self.entries_evaluated += 1
        try:
            data = self._entry(address)
            return evaluate(data, address, self._cie(address - cie_distance(data)))
        except BadImage as reason:
            self.damaged_entries += 1
            self.why = self.why or str(reason)
            return None

    def _cie(self, address: int) -> Cie:
        cie = self._cies.get(address)
        if cie is None:
            data = self._entry(address)
            if len(self._cies) >= _MAX_KEPT_ENTRIES:
                self._cies.clear()
            cie = self._cies[address] = read_cie(data, address)
        return cie

    def _entry(self, address: int) -> bytes:
        assert self._layout is not None
        offset = self._layout.offset(address)
        if offset is None:
            raise BadImage(f"the .eh_frame entry at {address:#x} is not in the file")
        data = self._read(offset, _ENTRY_BYTES)
        length = entry_length(data)
        if length > len(data):
            data = self._read(offset, length)
            if length > len(data):
                raise BadImage("an .eh_frame entry is cut off")
        return data[:length]

    def _load(self) -> None:
        self._loaded = True
        try:
            self._read_table()
        except BadImage as reason:
            self.why = str(reason)
            self._otherwise = UNUSABLE_RULE

    def _scan(self) -> None:
        """Build the table of a file without .eh_frame_hdr. Go programs, and C built without tables, have no entries."""
        place = find_eh_frame(self._read)
        if place is None:
            self.why = "no .eh_frame_hdr"
            return
        offset, size, address = place
        if size > MAX_SECTION_BYTES:
            raise BadImage(f"no .eh_frame_hdr, and .eh_frame of {size} bytes is too large to be scanned")
        self._starts, self._frames = scan(self._read(offset, size), address)
        self._base = address
        self.table_bytes = 16 * len(self._starts)

    def _read_table(self) -> None:
        assert self._layout is not None
        if self._layout.eh_frame_hdr is None:
            self._scan()
            return
        offset, size = self._layout.eh_frame_hdr
        base = self._layout.address(offset)
        head = self._read(offset, min(size, 32))
        if base is None or len(head) < _HDR.size:
            raise BadImage(".eh_frame_hdr is cut off")
        version, frame_encoding, count_encoding, table_encoding = _HDR.unpack_from(head)
        pointer_bytes = _FRAME_POINTER_BYTES.get(frame_encoding)
        if (
            version != _HDR_VERSION
            or count_encoding != _UDATA4
            or pointer_bytes is None
            or table_encoding not in {_DATA_RELATIVE_SDATA4, _DATA_RELATIVE_SDATA8}
        ):
            raise BadImage(f".eh_frame_hdr of form {head[:4].hex()} is not supported")
        table_at = _HDR.size + pointer_bytes + 4
        count = int.from_bytes(head[table_at - 4 : table_at], "little")
        width = 4 if table_encoding == _DATA_RELATIVE_SDATA4 else 8
        length = count * 2 * width
        if length > MAX_TABLE_BYTES or table_at + length > size:
            raise BadImage(f".eh_frame_hdr of {size} bytes cannot hold {count} entries, or exceeds the limit")
        table = self._read(offset + table_at, length)
        if len(table) != length:
            raise BadImage(".eh_frame_hdr is cut off")
        numbers = memoryview(table).cast("i") if width == 4 else memoryview(table).cast("q")
        self._starts, self._frames = numbers[::2], numbers[1::2]
        self._base = base
        self.table_bytes = length
