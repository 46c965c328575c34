"""Offsets of members in the running kernel's structures, from its BTF (Documentation/bpf/btf.rst). Pure but for `read`.

The kernel writes the file, so it is trusted to be sound; the parser is nevertheless bounded, and refuses what it does
not understand.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.errors import BadFormat

if TYPE_CHECKING:
    from collections.abc import Mapping

KERNEL_BTF: Final = Path("/sys/kernel/btf/vmlinux")
_MAX_BYTES: Final = 64 << 20
_MAGIC: Final = 0xEB9F
_HEADER: Final = struct.Struct("<HBBIIIII")
_TYPE: Final = struct.Struct("<III")
_MEMBER: Final = struct.Struct("<III")
_STRUCT: Final = 4
# Bytes after the 12 of a type, by its kind: fixed, and for each of its members.
_FIXED: Final = {1: 4, 3: 12, 14: 4, 17: 4}
_PER_MEMBER: Final = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
_KINDS: Final = 20
_BITS: Final = 0xFFFFFF


def read_member_offsets(
    wanted: Mapping[str, tuple[str, ...]], file: Path = KERNEL_BTF
) -> dict[tuple[str, str], int]:
    """`member_offsets` of the running kernel. Raises BadFormat, also if the kernel has no BTF."""
    try:
        with file.open("rb") as opened:
            data = opened.read(_MAX_BYTES + 1)
    except OSError as error:
        raise BadFormat(f"the kernel's types are not readable ({file}): {error.strerror}") from error
    return member_offsets(data, wanted)


def member_offsets(data: bytes, wanted: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, str], int]:
    """Byte offsets by (structure, member). Raises BadFormat unless all are found."""
    try:
        found = _find(data, wanted)
    except (struct.error, ValueError, OverflowError) as error:
        raise BadFormat(f"the kernel's types (BTF) are damaged: {error}") from error
    for name, members in wanted.items():
        for member in members:
            if (name, member) not in found:
                raise BadFormat(f"the kernel's types (BTF) have no {name}.{member}")
    return found


def _find(data: bytes, wanted: Mapping[str, tuple[str, ...]]) -> dict[tuple[str, str], int]:
    magic, _, _, header, types_at, types, strings_at, strings = _HEADER.unpack_from(data)
    if magic != _MAGIC or len(data) > _MAX_BYTES or header + types_at + types > len(data):
        raise BadFormat(f"not BTF: magic {magic:#x}, {len(data)} bytes")
    names = data[header + strings_at : header + strings_at + strings]
    # A name occurs once in the table, because the kernel's build removes duplicates.
    places = {names.index(b"\0" + name.encode() + b"\0") + 1: name for name in wanted}
    found: dict[tuple[str, str], int] = {}
    missing = set(places.values())
    at, end = header + types_at, header + types_at + types
    unpack = _TYPE.unpack_from
    extra = [_FIXED.get(kind, 0) for kind in range(32)]
    each = [_PER_MEMBER.get(kind, 0) for kind in range(32)]
    while at < end and missing:
        name, info, _ = unpack(data, at)
        at += 12
        kind, members = info >> 24 & 31, info & 0xFFFF
        if name in places and kind == _STRUCT:
            structure = places[name]
            missing.discard(structure)
            by_name = {member.encode(): member for member in wanted[structure]}
            for index in range(members):
                text, _, bits = _MEMBER.unpack_from(data, at + index * _MEMBER.size)
                member = by_name.get(names[text : names.find(b"\0", text)])
                if member is not None:
                    # With kind_flag set the upper 8 bits are the width of a bit field.
                    found[structure, member] = (bits & _BITS if info >> 31 else bits) // 8
        if kind >= _KINDS:
            raise BadFormat(f"the kernel's types (BTF) have the unknown kind {kind}")
        at += extra[kind] + members * each[kind]
    return found
