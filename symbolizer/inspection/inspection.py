"""Inspects a symbol file: which binary it belongs to, what it contains, what it lacks.

Read from the file alone, within limits; hostile files are inspected in a separate process (`inspector`).
The key joins a file with the binaries of captures (`storage.schema.binary.key`):

    GNU build-id in hex          most files
    go:…                         a Go program without one
    sha256:…                     any other executable
    crc32:…                      a debug file without a build-id: .gnu_debuglink has its checksum
    dwo:…, dwp:…                 split DWARF: the id of its unit; the lowest id of a package

Kallsyms as in /proc do not contain their build-id: the uploader must provide it. Kernel tables, the format of
gateways, do (`kallsyms`).
"""

import hashlib
import json
import zlib
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from storage.symbols.kinds import FileKind, Quality
from symbolizer.addresses import Segment, SegmentMap
from symbolizer.dwarf.units import package_ids, units
from symbolizer.elf.content import Source
from symbolizer.elf.file import ElfFile
from symbolizer.elf.links import AltLink, DebugLink
from symbolizer.elf.records import ET_CORE, ET_DYN, ET_EXEC, ET_REL, MACHINES
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import MalformedImage
from symbolizer.inspection.quality import quality_of
from symbolizer.kernel.kallsyms import MAX_BYTES, TABLE_MAGIC, Kallsyms, parse_kallsyms, parse_table

_AT_ONCE: Final = 1 << 20
_HEX: Final = frozenset(b"0123456789abcdef")
_ELF: Final = b"\x7fELF"


@dataclass(frozen=True, slots=True)
class Inspection:
    """Results for one file; they do not guarantee that its DWARF can be read in full."""

    key: str
    """Key of the binary it belongs to; '' for kallsyms as in /proc."""
    kind: FileKind
    quality: Quality
    bytes: int
    sha256: str
    crc32: int
    build_id: str
    """GNU build-id in hex; '' if it has none."""
    machine: str
    """x86-64, aarch64, …; '' for kallsyms."""
    bits: int
    functions: int
    """Functions that its symbol tables name; those of a kernel's kallsyms without modules."""
    segments: tuple[Segment, ...]
    """PT_LOAD headers unchanged; in a file by `objcopy --only-keep-debug` they lack their file offsets."""
    is_loadable: bool
    """Whether the file has code, so that its segments map offsets to addresses."""
    is_relocatable: bool
    """A kernel module or an object file: its addresses count from its sections."""
    debug_link: DebugLink | None
    alt_link: AltLink | None
    """The file with the names of inlined functions (`dwz -m`)."""
    compression: tuple[str, ...]
    """Compression methods of its sections."""
    units: int
    """Compilation units among those inspected."""
    dwarf_version: int
    """Version of the first unit; 0: it has no DWARF."""
    producer: str
    """Compiler of the first unit that states one."""
    split_ids: tuple[str, ...]
    """Some ids of units whose split units are elsewhere, in hex, ascending; in a .dwo or .dwp file, its own ids."""
    split_name: str
    """File name of the first of them, as the compiler wrote it; '' in a .dwo or .dwp file."""

    @property
    def segment_map(self) -> SegmentMap:
        """Its segments, as a map from offsets to addresses."""
        return SegmentMap(self.segments)

    @property
    def needs(self) -> tuple[str, ...]:
        """Keys of the files that complete it: one of these, or all that begin with `dwo:`; none: it is complete."""
        if self.alt_link is not None:
            return (self.alt_link.build_id.hex(),)
        if self.kind == FileKind.SPLIT or not self.split_ids:
            return ()
        return (f"dwp:{self.split_ids[0]}", *(f"dwo:{split_id}" for split_id in self.split_ids))

    def to_json(self) -> str:
        """The inspection as one line of text."""
        content = asdict(self)
        if self.alt_link:
            content["alt_link"]["build_id"] = self.alt_link.build_id.hex()
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str) -> "Inspection":
        """The inspection from text by `to_json`. Raises ValueError for any other text."""
        content: dict[str, Any] = json.loads(text)
        if not isinstance(content, dict) or set(content) != {field.name for field in fields(cls)}:
            raise ValueError("not an inspection")
        link, alt = content["debug_link"], content["alt_link"]
        return cls(
            **content
            | {
                "kind": FileKind(content["kind"]),
                "quality": Quality(content["quality"]),
                "segments": tuple(Segment(**segment) for segment in content["segments"]),
                "debug_link": DebugLink(**link) if link else None,
                "alt_link": AltLink(alt["path"], bytes.fromhex(alt["build_id"])) if alt else None,
                "compression": tuple(content["compression"]),
                "split_ids": tuple(content["split_ids"]),
            }
        )


def inspect(content: Source) -> Inspection:
    """Inspect a file. Raises `MalformedImage` (as `MalformedElf`) with a sentence that says why it cannot be used."""
    head = content[0:64]
    if head.startswith(TABLE_MAGIC):
        return _kernel_table(content)
    if head[:4] != _ELF and len(head) > 18 and _HEX.issuperset(head[:16]) and head[16:17] == b" ":
        return _kallsyms(content)
    return _Elf(ElfFile(content), content).inspected()


MAX_SPLIT_IDS: Final = 256


class _Elf:
    """Inspects one ELF file."""

    def __init__(self, elf: ElfFile, content: Source) -> None:
        self._elf = elf
        self._content = content
        self._sha256, self._crc32 = _digests(content)
        self._units = list(units(elf))
        self._package = package_ids(elf)

    def inspected(self) -> Inspection:
        elf = self._elf
        if elf.type not in {ET_REL, ET_EXEC, ET_DYN}:
            kind = "a core dump" if elf.type == ET_CORE else f"an ELF file of type {elf.type}"
            raise MalformedImage(f"It is {kind}; use executables, libraries or debug files.")
        functions = len(read_symbols(elf))
        split_ids = self._split_ids()
        kind = self._kind()
        first = self._units[0] if self._units else None
        return Inspection(
            key=self._key(kind, split_ids),
            kind=kind,
            quality=self._quality(kind, functions),
            bytes=len(self._content),
            sha256=self._sha256,
            crc32=self._crc32,
            build_id=elf.build_id.hex(),
            machine=MACHINES.get(elf.machine, f"machine {elf.machine}"),
            bits=elf.bits,
            functions=functions,
            segments=elf.segment_map.segments,
            is_loadable=self._is_loadable,
            is_relocatable=elf.type == ET_REL and kind not in {FileKind.SPLIT, FileKind.ALTLINK},
            debug_link=elf.debug_link,
            alt_link=elf.alt_link,
            compression=elf.compression,
            units=len(self._units),
            dwarf_version=first.version if first else 0,
            producer=next((unit.producer for unit in self._units if unit.producer), "")[:500],
            split_ids=tuple(f"{split_id:016x}" for split_id in split_ids[:MAX_SPLIT_IDS]),
            split_name=next((unit.dwo_name for unit in self._units if unit.is_skeleton), "")[:500],
        )

    @property
    def _is_loadable(self) -> bool:
        """Whether an executable segment has bytes in the file, and .text its own.

        `eu-strip -f` leaves the program's segments in a debug file unchanged; only its sections differ.
        """
        return self._elf.has_layout and not self._elf.is_emptied

    @property
    def _is_split(self) -> bool:
        return self._elf.has_content(".debug_info.dwo") or bool(self._package)

    def _kind(self) -> FileKind:
        elf = self._elf
        if self._is_split:
            return FileKind.SPLIT
        if self._is_loadable:
            return FileKind.EXECUTABLE
        if elf.has_code and not elf.is_emptied:
            return FileKind.EXECUTABLE  # a kernel module has no segments
        if not elf.has_code and elf.has_debug_sections:
            return FileKind.ALTLINK  # without a program: it has not even an emptied section for code
        return FileKind.DEBUGINFO if elf.has_dwarf else FileKind.SYMBOLS

    def _key(self, kind: FileKind, split_ids: list[int]) -> str:
        elf = self._elf
        if kind == FileKind.SPLIT:
            if self._package:
                return f"dwp:{split_ids[0]:016x}"
            if not split_ids:
                raise MalformedImage("It is split DWARF without an id, so it cannot be matched to a binary.")
            return f"dwo:{split_ids[0]:016x}"
        if elf.build_id:
            return elf.build_id.hex()
        if elf.go_build_id:
            return f"go:{elf.go_build_id}"
        return f"sha256:{self._sha256}" if kind == FileKind.EXECUTABLE else f"crc32:{self._crc32:08x}"

    def _quality(self, kind: FileKind, functions: int) -> Quality:
        if kind in {FileKind.SPLIT, FileKind.ALTLINK}:
            return Quality.DWARF  # of the file that it completes
        quality = quality_of(self._elf)
        return quality if functions or quality == Quality.DWARF else Quality.NONE

    def _split_ids(self) -> list[int]:
        """Ids that join it with its split units, ascending: all of them, because the key is the lowest one."""
        if self._package:
            return sorted(self._package)
        ids = {unit.dwo_id for unit in self._units if self._is_split or unit.is_skeleton}
        return sorted(split_id for split_id in ids if split_id is not None)


def _digests(content: Source) -> tuple[str, int]:
    digest, crc = hashlib.sha256(), 0
    for start in range(0, len(content), _AT_ONCE):
        part = content[start : start + _AT_ONCE]
        digest.update(part)
        crc = zlib.crc32(part, crc)
    return digest.hexdigest(), crc


def _kallsyms(content: Source) -> Inspection:
    if len(content) > MAX_BYTES:
        raise MalformedImage(f"The kallsyms have {len(content)} bytes; the limit is {MAX_BYTES}.")
    return _names(content, b"", parse_kallsyms(content[0 : len(content)], {}))


def _kernel_table(content: Source) -> Inspection:
    return _names(content, *parse_table(content[0 : min(len(content), MAX_BYTES + 1)]))


def _names(content: Source, build_id: bytes, symbols: Kallsyms) -> Inspection:
    sha256, crc32 = _digests(content)
    return Inspection(
        key=build_id.hex(), kind=FileKind.KALLSYMS, quality=Quality.SYMTAB, bytes=len(content), sha256=sha256,
        crc32=crc32, build_id=build_id.hex(), machine="", bits=64, functions=len(symbols.kernel.names),
        segments=(), is_loadable=False, is_relocatable=False, debug_link=None, alt_link=None, compression=(),
        units=0, dwarf_version=0, producer="", split_ids=(), split_name="",
    )  # fmt: skip
