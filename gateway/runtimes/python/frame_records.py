"""The records that python_frames.bpf.c writes, parsed. Pure; a record of another length or kind is None."""

from __future__ import annotations

import itertools
import struct
from typing import Final, NamedTuple

_FRAMES: Final = 0
_CODE: Final = 1
_FRAMES_HEAD: Final = struct.Struct("<HHHHII")
_FRAME: Final = struct.Struct("<QQQ")
_CODE_HEAD: Final = struct.Struct("<HHIIIQ")
HEAD_BYTES: Final = 224
NAME_BYTES: Final = 256
FILE_BYTES: Final = 384
TABLE_BYTES: Final = 4096
_CODE_PARTS: Final = tuple(
    itertools.accumulate((HEAD_BYTES, NAME_BYTES, FILE_BYTES), initial=_CODE_HEAD.size)
)
MAX_FRAMES: Final = 256

COMPLETE: Final = 0
NO_THREAD_STATE: Final = 1
BROKEN: Final = 2
TOO_DEEP: Final = 3
NO_STATE: Final = 4
NO_FRAME: Final = 5

# A reference to a code object has tags in its lowest bits (3.14), and the owner above the 56 bits of an address.
_ADDRESS: Final = 0x00FF_FFFF_FFFF_FFF8
_OWNER_SHIFT: Final = 56


class RawFrame(NamedTuple):
    """A frame as it lay in memory: its code reference with the owner above, its instruction, and a mark (merge.py)."""

    code: int
    instruction: int
    mark: int

    @property
    def address(self) -> int:
        """The code object."""
        return self.code & _ADDRESS

    @property
    def owner(self) -> int:
        """`owner` of the frame; 0 if the version has none."""
        return self.code >> _OWNER_SHIFT & 15

    @property
    def is_entry(self) -> bool:
        """`is_entry` of the frame (3.11)."""
        return bool(self.code >> _OWNER_SHIFT & 16)


class RawFrames(NamedTuple):
    """The frames of one sample, innermost first. `generation`: of the process's registration."""

    generation: int
    status: int
    frames: tuple[RawFrame, ...]


class RawCode(NamedTuple):
    """A code object, copied when a sample first met it: the start of the object, of its name and its file, its table."""

    generation: int
    address: int
    head: bytes
    name: bytes
    file: bytes
    table: bytes
    is_cut: bool
    """The line table is longer than what was copied."""


def parse_record(data: bytes | memoryview) -> RawFrames | RawCode | None:
    """Parse what follows the size in a raw sample."""
    try:
        kind, count, status, _, generation, _ = _FRAMES_HEAD.unpack_from(data)
        if kind == _FRAMES:
            if count > MAX_FRAMES:
                return None
            body = data[_FRAMES_HEAD.size : _FRAMES_HEAD.size + count * _FRAME.size]
            if len(body) != count * _FRAME.size:
                return None
            return RawFrames(generation, status, tuple(map(RawFrame._make, _FRAME.iter_unpack(body))))
        if kind != _CODE:
            return None
        _, _, generation, table_bytes, _, address = _CODE_HEAD.unpack_from(data)
    except struct.error:
        return None
    head, name, file = (bytes(data[start:end]) for start, end in itertools.pairwise(_CODE_PARTS))
    table = bytes(data[_CODE_PARTS[-1] : _CODE_PARTS[-1] + min(table_bytes, TABLE_BYTES)])
    if len(data) < _CODE_PARTS[-1] or len(table) != min(table_bytes, TABLE_BYTES):
        return None
    return RawCode(generation, address, head, name, file, table, table_bytes > TABLE_BYTES)
