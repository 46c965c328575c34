"""One file per binary that answers all its addresses: SymCache, symbol table, segments.

Workers map the file read-only and read it in place, so the first lookup costs a few page faults; parsing the
symbol table of libLLVM took 66 ms before any lookup. Little-endian:

    magic "fpsymbol", u32 format, u32 CRC-32 of the header, u64 its position, u64 its length
    sections: symcache, starts, ends, sized, around, names, name_at, name_hash, name_order, nameless
    header: JSON with the position and length of each section, segments, base, origin

The header is written last and the complete file renamed into place, so a truncated file has no header. Reads
outside the file's bounds raise `MalformedSymCache`: the file is then dropped and built again.
"""

import json
import mmap
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Protocol

import numpy as np
import numpy.typing as npt

from symbolizer.addresses import Segment, SegmentMap
from symbolizer.errors import MalformedElf, MalformedSymCache
from symbolizer.tables.address_table import AddressTable
from symbolizer.tables.symbol_table import MISS, Functions, NameIndex, Names, SymbolTable
from symbolizer.tables.symcache import SymCache, open_symcache

FORMAT: Final = 2
"""Part of the producer's version: files of another format are rebuilt."""
_MAGIC: Final = b"fpsymbol"
_PREAMBLE: Final = np.dtype(
    [("magic", "S8"), ("format", "<u4"), ("crc32", "<u4"), ("header_at", "<u8"), ("header_bytes", "<u8")]
)
_ALIGNED: Final = 64
_MAX_HEADER_BYTES: Final = 1 << 20
_AT_ONCE: Final = 1 << 20
_COLUMNS: Final = {
    "starts": "<u8",
    "ends": "<u8",
    "sized": "?",
    "around": "<i8",
    "name_at": "<u8",
    "name_hash": "<u4",
    "name_order": "<u4",
}
"""Sections with one entry for each function of the symbol table."""


class SymCacheMaker(Protocol):
    """A SymCache made by `symbolic`, which can be written to a file."""

    def dump_into(self, file: BinaryIO) -> None:
        """Append it to an open file."""


@dataclass(frozen=True, slots=True)
class BuiltSymbols:
    """An opened file of built symbols; it stays valid when the file is removed."""

    table: AddressTable
    symbols: SymbolTable
    segments: SegmentMap
    """Segments of the executable; with them, lookups work without the executable."""
    base: int
    """Base of the table's addresses: first PT_LOAD of the debug file, which may not be among `segments`."""
    origin: str
    """Source of the debug data, for a person."""


def write_built_symbols(
    file: BinaryIO,
    symcache: SymCacheMaker,
    symbols: SymbolTable,
    segments: SegmentMap,
    origin: str,
    *,
    base: int | None = None,
) -> None:
    """Write to a file that is open for reading and writing, at its start; complete only on return. Raises OSError.

    `base` is what the SymCache counts from; None: the first of `segments`.
    """
    sections: dict[str, tuple[int, int]] = {}
    file.write(bytes(_PREAMBLE.itemsize))
    start = _align(file)
    symcache.dump_into(file)
    sections["symcache"] = start, file.seek(0, os.SEEK_END) - start
    file.flush()
    nameless = _nameless(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ), *sections["symcache"])
    for name, content in {"nameless": nameless, **_columns_of(symbols)}.items():
        sections[name] = _align(file), content.nbytes
        file.write(content.data if content.nbytes else b"")
    start = _align(file)
    file.writelines(symbols.name(index) + b"\0" for index in range(len(symbols)))
    sections["names"] = start, file.tell() - start
    header = {
        "sections": sections,
        "segments": [[s.offset, s.vaddr, s.filesz, int(s.executable)] for s in segments.segments],
        "base": segments.base if base is None else base,
        "origin": origin,
        "functions": len(symbols),
        "stripped": symbols.is_stripped,
    }
    text = json.dumps(header).encode()
    preamble = np.array([(_MAGIC, FORMAT, zlib.crc32(text), _align(file), len(text))], _PREAMBLE)
    file.write(text)
    file.seek(0)
    file.write(preamble.tobytes())
    file.flush()


def open_built_symbols(file: BinaryIO) -> BuiltSymbols:
    """Map an open file; it may be closed or removed afterwards. Raises OSError, `MalformedSymCache`."""
    if os.fstat(file.fileno()).st_size < _PREAMBLE.itemsize:
        raise MalformedSymCache("The preamble of the file of built symbols is cut off.")
    mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    header = _read_header(mapped)
    try:
        sections = {str(name): (int(at), int(size)) for name, (at, size) in header["sections"].items()}
        count = int(header["functions"])
        columns = {name: _array(mapped, sections, name, kind, count) for name, kind in _COLUMNS.items()}
        nameless = _array(mapped, sections, "nameless", "<u4", sections["nameless"][1] // 4)
        table = open_symcache(mapped, *sections["symcache"], nameless=nameless)
        names_at, names_bytes = sections["names"]
        if names_at + names_bytes > len(mapped):
            raise MalformedSymCache("The names in the file of built symbols are cut off.")
        symbols = SymbolTable(
            Functions(columns["starts"], columns["ends"], columns["sized"]),
            Names(
                (mapped,),
                np.broadcast_to(np.int32(0), count),
                columns["name_at"] + np.uint64(names_at),
            ),
            is_stripped=bool(header["stripped"]),
            around=columns["around"],
            by_name=NameIndex(columns["name_hash"], columns["name_order"]),
        )
        segments = tuple(Segment(int(o), int(v), int(n), bool(x)) for o, v, n, x in header["segments"])
        base = int(header["base"])
        if not 0 <= base < 1 << 64:
            raise MalformedSymCache("The file of built symbols has no base address.")
        return BuiltSymbols(table, symbols, SegmentMap(segments), base, str(header["origin"]))
    except (KeyError, TypeError, ValueError, MalformedElf) as error:
        raise MalformedSymCache(f"The header of the file of built symbols is invalid: {error}.") from error


def _read_header(mapped: mmap.mmap) -> dict[str, Any]:
    preamble = np.frombuffer(mapped, _PREAMBLE, 1)[0]
    if preamble["magic"] != _MAGIC or preamble["format"] != FORMAT:
        raise MalformedSymCache("It is not a file of built symbols of this format.")
    at, size = int(preamble["header_at"]), int(preamble["header_bytes"])
    text = mapped[at : at + size] if size <= _MAX_HEADER_BYTES else b""
    if zlib.crc32(text) != preamble["crc32"]:
        raise MalformedSymCache("The header of the file of built symbols is damaged.")
    header: dict[str, Any] = json.loads(text)
    return header


def _array(
    mapped: mmap.mmap, sections: Mapping[str, tuple[int, int]], name: str, kind: str, count: int
) -> npt.NDArray[Any]:
    at, size = sections[name]
    dtype = np.dtype(kind)
    if count * dtype.itemsize > size or at + size > len(mapped):
        raise MalformedSymCache(f"The {name} of the file of built symbols is cut off.")
    return np.frombuffer(mapped, dtype, count, at)


def _columns_of(symbols: SymbolTable) -> dict[str, npt.NDArray[Any]]:
    lengths = np.fromiter((len(symbols.name(i)) + 1 for i in range(len(symbols))), np.uint64, len(symbols))
    values = {
        "starts": symbols.starts,
        "ends": symbols.ends,
        "sized": symbols.is_sized,
        "around": symbols.around if len(symbols) else np.full(0, MISS, np.int64),
        "name_at": np.append(np.uint64(0), np.cumsum(lengths, dtype=np.uint64))[: len(symbols)],
        "name_hash": symbols.by_name.hashes,
        "name_order": symbols.by_name.order,
    }
    return {name: np.ascontiguousarray(values[name], kind) for name, kind in _COLUMNS.items()}


def _nameless(mapped: mmap.mmap, start: int, size: int) -> npt.NDArray[np.uint32]:
    table = open_symcache(mapped, start, size)
    return table.nameless if isinstance(table, SymCache) else np.zeros(0, np.uint32)


def _align(file: BinaryIO) -> int:
    at = file.seek(0, os.SEEK_END)
    file.write(bytes(-at % _ALIGNED))
    return at + -at % _ALIGNED
