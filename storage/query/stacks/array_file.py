"""Named arrays in one read-only file that processes map.

Little-endian:

    magic "fparrays", u32 format, u32 CRC-32 of the header, u64 length of the header
    header: JSON with what the file is about, and name, type, count and CRC-32 of each array
    the arrays, in the header's order, each begins at a multiple of 64

A file is written beside its place and renamed when it is complete and on disk; a mapped file is never written to. All
of it is read and checked before any of it is mapped: pages that are only read do not count as the reader's memory.
"""

import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from storage.query.stacks.errors import UnusableFile

_MAGIC = b"fparrays"
_PREAMBLE = np.dtype([("magic", "S8"), ("format", "<u4"), ("crc32", "<u4"), ("header_bytes", "<u8")])
_ALIGNED = 64
_MOST_HEADER_BYTES = 1 << 16
_MOST_BYTES = 1 << 38
_AT_ONCE = 1 << 20

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """A mapped file; it stays valid when the file is removed or replaced."""

    about: Mapping[str, Any]
    arrays: Mapping[str, Array]
    bytes: int


def write(path: Path, about: Mapping[str, Any], arrays: Mapping[str, Array], *, version: int) -> None:
    """Replace the file at `path` with a complete one, or leave it unchanged. Raises OSError.

    Only one process at a time may call this for a path: it writes to `path` with the suffix `.part`.
    """
    packed = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<")) for name, array in arrays.items()
    }
    listed = [[name, array.dtype.str, len(array), zlib.crc32(array.data)] for name, array in packed.items()]
    header = json.dumps({"about": about, "arrays": listed}).encode()
    preamble = np.array([(_MAGIC, version, zlib.crc32(header), len(header))], _PREAMBLE)
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        with part.open("xb") as file:
            file.write(preamble.tobytes() + header)
            for array in packed.values():
                file.write(bytes(-file.tell() % _ALIGNED))
                file.write(array.data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read(path: Path, types: Mapping[str, str], *, version: int) -> ArrayFile:
    """Check and map a file with exactly these arrays, of these types. Raises OSError, `UnusableFile`."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MOST_BYTES:
            raise UnusableFile(f"{path} has {size} bytes; a stack file is smaller.")
        about, listed, at = _read_header(file, path, version)
        if [(name, kind) for name, kind, *_ in listed] != list(types.items()):
            raise UnusableFile(f"{path} has other arrays than this version expects.")
        places = dict(_places(listed, at))
        end = max((at + count * np.dtype(kind).itemsize for at, count, kind in places.values()), default=at)
        if size != end:
            raise UnusableFile(f"{path} has {size} bytes of {end}.")
        for (name, kind, count, crc32), (at, _, _) in zip(listed, places.values(), strict=True):
            if _crc32(file, at, count * np.dtype(kind).itemsize) != crc32:
                raise UnusableFile(f"{path} is damaged in {name}.")
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    arrays = {name: np.frombuffer(mapped, kind, count, at) for name, (at, count, kind) in places.items()}
    return ArrayFile(about, arrays, size)


def _read_header(
    file: BinaryIO, path: Path, version: int
) -> tuple[dict[str, Any], list[tuple[str, str, int, int]], int]:
    start = file.read(_PREAMBLE.itemsize)
    if len(start) < _PREAMBLE.itemsize:
        raise UnusableFile(f"The preamble of {path} is cut off.")
    preamble = np.frombuffer(start, _PREAMBLE)[0]
    if preamble["magic"] != _MAGIC or preamble["format"] != version:
        raise UnusableFile(f"{path} is not a stack file of this version.")
    size = int(preamble["header_bytes"])
    text = file.read(size) if size <= _MOST_HEADER_BYTES else b""
    if zlib.crc32(text) != preamble["crc32"] or len(text) != size:
        raise UnusableFile(f"The header of {path} is damaged.")
    try:
        header = json.loads(text)
        listed = [(str(name), str(kind), int(count), int(crc)) for name, kind, count, crc in header["arrays"]]
        about = dict(header["about"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise UnusableFile(f"{path} has no valid header for this version: {error}.") from error
    if any(count < 0 for _, _, count, _ in listed):
        raise UnusableFile(f"{path} has an array of negative length.")
    return about, listed, _PREAMBLE.itemsize + size


def _places(listed: list[tuple[str, str, int, int]], at: int) -> Iterator[tuple[str, tuple[int, int, str]]]:
    """By name, the offset of each array, its count and its type."""
    for name, kind, count, _ in listed:
        at += -at % _ALIGNED
        yield name, (at, count, kind)
        at += count * np.dtype(kind).itemsize


def _crc32(file: BinaryIO, at: int, size: int) -> int:
    file.seek(at)
    crc32, buffer = 0, memoryview(bytearray(_AT_ONCE))
    while size > 0 and (got := file.readinto(buffer[: min(size, _AT_ONCE)])):  # type: ignore[attr-defined]  # a buffered reader has it
        crc32 = zlib.crc32(buffer[:got], crc32)
        size -= got
    return crc32
