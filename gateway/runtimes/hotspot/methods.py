"""Names, files and lines of methods: Method, ConstMethod, ConstantPool, Klass, Symbol."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from gateway.runtimes.hotspot.errors import Damaged
from gateway.runtimes.hotspot.streams import LineTable

if TYPE_CHECKING:
    from gateway.runtimes.hotspot.debug_info import Charge
    from gateway.runtimes.hotspot.layout import Layout
    from gateway.runtimes.hotspot.vm_structs import Read

_MAX_METHODS: Final = 1 << 16
_MAX_SYMBOL: Final = 1024
_MAX_CONSTANTS: Final = 1 << 16
_MAX_CONST_METHOD: Final = 1 << 20
_MAX_LINE_TABLES: Final = 4096
# Numbers that differ from run to run: the address of a hidden class, the count of generated ones. A method must be one
# row for all processes and runs, as in symbolizer/jit_names.py.
_UNSTABLE: Final = (
    (re.compile(r"\+0x[0-9a-f]+$"), ""),
    (re.compile(r"\$\$Lambda\$\d+"), "$$Lambda"),
    (re.compile(r"\b(Generated(?:Serialization)?(?:Method|Constructor)Accessor)\d+"), r"\1"),
    (re.compile(r"(\$Proxy)\d+$"), r"\1"),
)


_NO_LINES: Final = LineTable(b"", 0)


def stable_name(internal: str) -> str:
    """The name of a class by the JVM's internal one: with dots, without numbers of hidden and generated classes."""
    for pattern, replacement in _UNSTABLE:
        internal = pattern.sub(replacement, internal)
    return internal.replace("/", ".")


class Method(NamedTuple):
    """A method: `code` are its first and last bytecode's addresses, `identity` the bytes by which it is recognized."""

    name: str
    file: str
    code_begin: int
    code_end: int
    table_end: int
    has_lines: bool
    const_method: int
    identity: bytes


class Methods:
    """The methods of one JVM, by address. All methods raise Damaged and what `read` raises."""

    def __init__(self, layout: Layout, read: Read, charge: Charge) -> None:
        self._layout = layout.method
        self._read = read
        self._charge = charge
        self._known: dict[int, Method] = {}
        self._tables: dict[int, LineTable] = {}

    def forget(self, address: int) -> None:
        """Drop a method that has changed."""
        method = self._known.pop(address, None)
        if method is not None:
            self._tables.pop(method.const_method, None)

    def known(self, address: int) -> Method | None:
        """The method at an address if it was read before."""
        return self._known.get(address)

    def is_current(self, address: int) -> bool:
        """Whether the method known at an address is still there."""
        method = self._known.get(address)
        return method is not None and self._identity(address)[1] == method.identity

    def at(self, address: int) -> Method:
        """The method at an address."""
        method = self._known.get(address)
        if method is None:
            if len(self._known) >= _MAX_METHODS:
                self._known.clear()
                self._tables.clear()
            method = self._known[address] = self._read_method(address)
        return method

    def line(self, method: Method, bci: int, excluded: int) -> int:
        """The source line of a bytecode; 0: unknown."""
        if bci < 0 or not method.has_lines:
            return 0
        table = self._tables.get(method.const_method)
        if table is None:
            if len(self._tables) >= _MAX_LINE_TABLES:
                self._tables.clear()
            size = method.table_end - method.code_end
            self._charge(size)
            data = self._read(method.code_end, size)
            try:
                table = LineTable(data, excluded)
            except Damaged:
                table = _NO_LINES
            self._tables[method.const_method] = table
        return table.at(bci)

    def _identity(self, address: int) -> tuple[int, bytes]:
        if not address or address & 7:
            raise Damaged(f"{address:#x} is no method")
        layout = self._layout
        const_method = layout.const_method.of(self._read(address, layout.method_bytes))
        if not const_method or const_method & 7:
            raise Damaged(f"the method at {address:#x} has no ConstMethod")
        data = self._read(const_method, layout.const_method_bytes)
        # The first word of old versions, a fingerprint, is computed on demand.
        return const_method, data[layout.constants.offset :]

    def _read_method(self, address: int) -> Method:
        layout = self._layout
        const_method, identity = self._identity(address)
        data = bytes(layout.constants.offset) + identity
        words = layout.const_method_size.of(data)
        begin = const_method + layout.const_method_bytes
        end = begin + layout.code_size.of(data)
        table_end = const_method + 8 * words
        if not 0 < 8 * words <= _MAX_CONST_METHOD or end > table_end:
            raise Damaged(f"the ConstMethod of {8 * words} bytes is not plausible")
        pool = layout.constants.of(data)
        pool_data = self._read(pool, layout.pool_bytes)
        length = layout.pool_length.of(pool_data)
        if not 0 < length <= _MAX_CONSTANTS:
            raise Damaged(f"{length} constants are not plausible")
        holder = layout.pool_holder.of(pool_data)
        class_data = self._read(holder, layout.class_bytes if layout.class_source_file else 64)
        class_name = self._symbol(layout.class_name.of(class_data))
        name = self._constant(pool, length, layout.name_index.of(data))
        source = layout.pool_source_file.of(pool_data) if layout.pool_source_file else 0
        if layout.class_source_file:
            source = layout.class_source_file.of(class_data)
        file = self._constant(pool, length, source) if source else ""
        owner = stable_name(class_name)
        has_lines = bool(layout.flags.of(data) & layout.has_lines)
        return Method(f"{owner}.{name}", file, begin, end, table_end, has_lines, const_method, identity)

    def _constant(self, pool: int, length: int, index: int) -> str:
        if not 0 < index < length:
            raise Damaged(f"constant {index} of {length} does not exist")
        slot = self._read(pool + self._layout.pool_bytes + 8 * index, 8)
        return self._symbol(int.from_bytes(slot, "little") & ~1)

    def _symbol(self, address: int) -> str:
        layout = self._layout
        head = self._read(address, 8)
        length = (layout.symbol_length.of(head) >> layout.symbol_length_shift) & 0xFFFF
        if not 0 < length <= _MAX_SYMBOL:
            raise Damaged(f"a name of {length} bytes is not plausible")
        text = self._read(address + layout.symbol_body, length).decode("utf-8", "replace")
        if not text.isprintable():
            raise Damaged("a name has control characters")
        return text
