"""The tables of types, fields and constants that libjvm exports: gHotSpotVMStructs and its siblings.

Each table is an array whose stride and member offsets are exported as well; it ends with an entry without a name.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from gateway.runtimes.hotspot.errors import Damaged, JvmUnsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    Read = Callable[[int, int], bytes]

_MAX_ENTRIES: Final = 16_384
_MAX_STRIDE: Final = 256
_ENTRIES_AT_ONCE: Final = 256
_PAGE: Final = 4096
_MAX_NAME: Final = 256
_MAX_PAGES: Final = 4096
_WORD: Final = Struct("<Q")

# Sizes of types that the tables of some versions use without listing them.
_C_SIZES: Final = {
    "bool": 1, "u1": 1, "uint8_t": 1, "signed char": 1, "jbyte": 1, "CodeBlobKind": 1, "CompLevel": 1,
    "u2": 2, "uint16_t": 2, "int16_t": 2, "short": 2, "unsigned short": 2, "jshort": 2,
    "u4": 4, "int": 4, "uint32_t": 4, "int32_t": 4, "unsigned int": 4, "jint": 4, "juint": 4, "uint": 4,
    "address": 8, "size_t": 8, "uint64_t": 8, "int64_t": 8, "intptr_t": 8, "long": 8, "julong": 8,
}  # fmt: skip
_SIGNED: Final = frozenset(
    {"int", "short", "jshort", "jint", "int16_t", "int32_t", "int64_t", "long", "signed char"}
)


class Field(NamedTuple):
    """A member of a structure: `address` is that of a static one, else 0; `size` 0: not a scalar."""

    offset: int
    address: int
    size: int
    signed: bool

    def of(self, data: bytes, base: int = 0) -> int:
        """The value in the bytes of a structure that begins at `base`. Raises Damaged."""
        at = base + self.offset
        raw = data[at : at + self.size]
        if at < 0 or not self.size or len(raw) != self.size:
            raise Damaged(f"{len(data)} bytes hold no field at {at}")
        return int.from_bytes(raw, "little", signed=self.signed)


class VmStructs:
    """The entries about the wanted types, and all wanted constants."""

    def __init__(
        self, fields: dict[tuple[str, str], Field], sizes: dict[str, int], constants: dict[str, int]
    ) -> None:
        self._fields = fields
        self._sizes = sizes
        self._constants = constants

    def field(self, kind: str, *names: str) -> Field:
        """The first of the named fields that exists. Raises JvmUnsupported."""
        found = self.find(kind, *names)
        if found is None:
            raise JvmUnsupported(f"this JVM does not describe {kind}::{' or '.join(names)}")
        return found

    def find(self, kind: str, *names: str) -> Field | None:
        """The first of the named fields that exists."""
        for name in names:
            found = self._fields.get((kind, name))
            if found is not None:
                return found
        return None

    def size(self, kind: str) -> int:
        """The size of a type. Raises JvmUnsupported."""
        try:
            return self._sizes[kind]
        except KeyError:
            raise JvmUnsupported(f"this JVM does not describe the type {kind}") from None

    def find_size(self, kind: str) -> int | None:
        """The size of a type; None: not described."""
        return self._sizes.get(kind)

    def constant(self, *names: str) -> int:
        """The first of the named constants that exists. Raises JvmUnsupported."""
        for name in names:
            if name in self._constants:
                return self._constants[name]
        raise JvmUnsupported(f"this JVM does not describe the constant {' or '.join(names)}")

    def find_constant(self, name: str, default: int) -> int:
        """A constant that some versions lack."""
        return self._constants.get(name, default)


def read_vm_structs(
    exported: Callable[[str], int], read: Read, *, types: Collection[str], constants: Collection[str]
) -> VmStructs:
    """Read the tables of one JVM.

    `exported` gives the address of one of libjvm's symbols and raises JvmUnsupported; `read` returns exactly the bytes
    requested or raises. Raises JvmUnsupported and Damaged.
    """
    texts = _Texts(read)
    described = _table(exported, read, "gHotSpotVMTypes", "gHotSpotVMTypeEntry", ("TypeName", "Size"))
    sizes = {}
    scalars = dict(_C_SIZES)
    for name_at, size in described:
        name = texts.at(name_at)
        if name in types:
            sizes[name] = size
        elif name in _C_SIZES:
            scalars[name] = size
    fields = {}
    members = ("TypeName", "FieldName", "TypeString", "IsStatic", "Offset", "Address")
    for type_at, field_at, kind_at, static, offset, address in _table(
        exported, read, "gHotSpotVMStructs", "gHotSpotVMStructEntry", members
    ):
        owner = texts.at(type_at)
        if owner in types:
            kind = texts.at(kind_at).removeprefix("volatile ") if kind_at else ""
            size = 8 if kind.endswith("*") else scalars.get(kind, 0)
            is_static = bool(static & 0xFFFFFFFF)
            fields[owner, texts.at(field_at)] = Field(
                0 if is_static else offset, address if is_static else 0, size, kind in _SIGNED
            )
    values = {}
    for table, entry in (
        ("gHotSpotVMIntConstants", "gHotSpotVMIntConstantEntry"),
        ("gHotSpotVMLongConstants", "gHotSpotVMLongConstantEntry"),
    ):
        is_int = "Int" in table
        for name_at, value in _table(exported, read, table, entry, ("Name", "Value")):
            name = texts.at(name_at)
            if name in constants:
                values[name] = (value & 0xFFFFFFFF ^ 1 << 31) - (1 << 31) if is_int else value
    return VmStructs(fields, sizes, values)


def _table(
    exported: Callable[[str], int], read: Read, table: str, entry: str, members: tuple[str, ...]
) -> Iterator[tuple[int, ...]]:
    """Yield the named members of each entry as words. Raises JvmUnsupported and Damaged."""

    def word(symbol: str) -> int:
        (value,) = _WORD.unpack(read(exported(symbol), 8))
        return int(value)

    stride = word(f"{entry}ArrayStride")
    offsets = [word(f"{entry}{member}Offset") for member in members]
    if (
        not 8 <= stride <= _MAX_STRIDE
        or max(offsets) + 8 > stride
        or any(value & 7 for value in (stride, *offsets))
    ):
        raise Damaged(f"{table} has entries of {stride} bytes")
    row = Struct(f"<{stride // 8}Q")
    places = [offset // 8 for offset in offsets]
    at = word(table)
    for _ in range(_MAX_ENTRIES):
        data = _entries(read, at, stride)
        for words in row.iter_unpack(data):
            if not words[places[0]]:
                return
            yield tuple([words[place] for place in places])
        at += len(data)
    raise Damaged(f"{table} has no end")


def _entries(read: Read, at: int, stride: int) -> bytes:
    """Some entries; few at the end of the memory that holds the table."""
    try:
        return read(at, stride * _ENTRIES_AT_ONCE)
    except Exception:  # noqa: BLE001 - the reader's own error; the second read raises it again
        return read(at, stride)


class _Texts:
    """C strings, read by page."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._pages: dict[int, bytes] = {}
        self._known: dict[int, str] = {}

    def at(self, address: int) -> str:
        """The string at an address. Raises Damaged."""
        known = self._known.get(address)
        if known is not None:
            return known
        text = b""
        at = address
        while len(text) <= _MAX_NAME:
            page = self._page(at & -_PAGE)
            start = at & _PAGE - 1
            end = page.find(b"\0", start)
            text += page[start : end if end >= 0 else _PAGE]
            if end >= 0:
                found = self._known[address] = text.decode("utf-8", "replace")
                return found
            at += _PAGE - start
        raise Damaged(f"a name of the JVM's tables has more than {_MAX_NAME} bytes")

    def _page(self, start: int) -> bytes:
        page = self._pages.get(start)
        if page is None:
            if len(self._pages) >= _MAX_PAGES:
                raise Damaged(f"the names of the JVM's tables lie in more than {_MAX_PAGES} pages")
            page = self._pages[start] = self._read(start, _PAGE)
        return page
