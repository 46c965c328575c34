"""Addresses that a profiler can meet: those covered by unwind entries, without padding and data.

Read from .eh_frame, else from .debug_frame (Go, the kernel), by the DWARF standard §6.4 and the Linux Standard Base's
chapter on exception frames.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import numpy as np

from symbolizer.elf.file import ElfFile
from symbolizer.files import OpenedFile

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    U64 = npt.NDArray[np.uint64]

_PCREL_SDATA4: Final = 0x1B
_ABSOLUTE: Final = 0x00
_CIE_OF_DEBUG_FRAME: Final = 0xFFFFFFFF


def covered_ranges(path: Path) -> tuple[U64, U64]:
    """Starts and lengths of the functions with unwind entries, within executable sections."""
    with OpenedFile(path) as content:
        elf = ElfFile(content)
        frame = elf.data(".eh_frame")
        if frame:
            base = int(elf.sections["addr"][elf.section_names[".eh_frame"]])
            ranges = _eh_frame(frame, base)
        else:
            ranges = _debug_frame(elf.data(".debug_frame") or b"")
        code = elf.sections[(elf.sections["flags"] & 4) != 0]
        bounds = list(zip(code["addr"].tolist(), (code["addr"] + code["size"]).tolist(), strict=True))
    inside = [
        (start, size)
        for start, size in ranges
        if size and any(low <= start and start + size <= high for low, high in bounds)
    ]
    starts, sizes = zip(*inside, strict=True) if inside else ((), ())
    return np.array(starts, np.uint64), np.array(sizes, np.uint64)


def random_addresses(ranges: tuple[U64, U64], count: int, seed: int) -> U64:
    """Addresses chosen uniformly over all covered bytes."""
    starts, sizes = ranges
    ends = np.cumsum(sizes)
    at = np.random.default_rng(seed).integers(0, int(ends[-1]), count).astype(np.uint64)
    which = np.searchsorted(ends, at, "right")
    return np.asarray(starts[which] + at - (ends[which] - sizes[which]))


def _eh_frame(data: bytes, base: int) -> list[tuple[int, int]]:
    encodings: dict[int, int] = {}
    ranges = []
    at = 0
    while at + 8 <= len(data):
        length, distance = struct.unpack_from("<II", data, at)
        if length in {0, 0xFFFFFFFF}:  # a terminator may stand between the entries of several files
            at += 4
            continue
        body = at + 4
        if distance == 0:
            encodings[at] = _pointer_encoding(data, body + 4)
        else:
            encoding = encodings.get(body - distance)
            if encoding == _PCREL_SDATA4:
                start, size = struct.unpack_from("<iI", data, body + 4)
                ranges.append(((base + body + 4 + start) % (1 << 64), size))
            elif encoding == _ABSOLUTE:
                ranges.append(struct.unpack_from("<QQ", data, body + 4))
        at = body + length
    return ranges


def _pointer_encoding(data: bytes, at: int) -> int:
    """Encoding of addresses in a CIE's entries; `at` is the offset of its version."""
    end = data.index(b"\0", at + 1)
    augmentation = data[at + 1 : end]
    at = end + 1
    at = _skip_leb128(data, _skip_leb128(data, _skip_leb128(data, at)))  # alignments, return register
    if not augmentation.startswith(b"z"):
        return _ABSOLUTE
    at = _skip_leb128(data, at)
    for letter in augmentation[1:].decode("latin-1"):
        if letter == "R":
            return data[at]
        if letter == "P":
            at += 1 + {0x0: 8, 0x3: 4, 0xB: 4, 0xC: 8}.get(data[at] & 0x0F, 8)
        elif letter == "L":
            at += 1
    return _ABSOLUTE


def _skip_leb128(data: bytes, at: int) -> int:
    while data[at] & 0x80:
        at += 1
    return at + 1


def _debug_frame(data: bytes) -> list[tuple[int, int]]:
    ranges = []
    at = 0
    while at + 8 <= len(data):
        length, cie = struct.unpack_from("<II", data, at)
        if length in {0, 0xFFFFFFFF}:  # padding, or DWARF 64
            break
        if cie != _CIE_OF_DEBUG_FRAME:
            ranges.append(struct.unpack_from("<QQ", data, at + 8))
        at += 4 + length
    return ranges
