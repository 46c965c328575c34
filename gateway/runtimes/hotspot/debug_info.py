"""Debug information of compiled code: from a code address to its methods, the inlined ones first."""

from __future__ import annotations

from bisect import bisect_left
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from gateway.runtimes.hotspot.errors import Damaged
from gateway.runtimes.hotspot.streams import FORMS, read_scopes
from gateway.runtimes.process_memory import Unreadable

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateway.runtimes.hotspot.code_cache import Blob
    from gateway.runtimes.hotspot.layout import Layout
    from gateway.runtimes.hotspot.streams import Scope
    from gateway.runtimes.hotspot.vm_structs import Read

    Charge = Callable[[int], None]

_MAX_BYTES: Final = 1 << 20
_ALWAYS: Final = 1 << 30
_MAX_TRIED: Final = 8
_MAX_METADATA: Final = 1 << 16


class DebugInfo(NamedTuple):
    """The descriptions of one nmethod by ascending offset in its code, and the stream of its scopes.

    `deopt_handlers`: a return address replaced by one of them is kept in the frame, `orig_pc_words` above its rsp.
    """

    method: int
    metadata: int
    offsets: list[int]
    scope_offsets: list[int]
    flags: list[int]
    scopes: bytes
    deopt_handlers: frozenset[int]
    orig_pc_words: int
    level: int

    def exact(self, offset: int) -> int | None:
        """The description of the return address at an offset; None: there is none."""
        index = bisect_left(self.offsets, offset)
        return index if index < len(self.offsets) and self.offsets[index] == offset else None

    def nearest(self, offset: int) -> int | None:
        """The description that covers the instruction at an offset: the next one, which ends its range."""
        index = bisect_left(self.offsets, offset + 1)
        return index if index < len(self.offsets) else None

    def scopes_at(self, index: int, excluded: int) -> list[Scope]:
        """The activations of a description. Raises Damaged."""
        scope = self.scope_offsets[index]
        return read_scopes(self.scopes, scope, excluded) if scope else []

    def find_excluded(self, read: Read) -> int | None:
        """The form of this JVM's streams: only with the right one every outermost method is the nmethod's own.

        None: the scopes here do not decide. Raises what `read` raises.
        """
        fitting = [excluded for excluded in FORMS if self._fits(excluded, read)]
        return fitting[0] if len(fitting) == 1 else None

    def _fits(self, excluded: int, read: Read) -> bool:
        tried = [index for index, scope in enumerate(self.scope_offsets) if scope > 0][:_MAX_TRIED]
        try:
            outermost = {self.scopes_at(index, excluded)[-1].method for index in tried}
            pointers = {method_pointer(self.metadata, number, read) for number in outermost}
        except (Damaged, Unreadable):
            return False
        return pointers == {self.method}


def method_pointer(metadata: int, number: int, read: Read) -> int:
    """The Method* that a scope names by its number. Raises Damaged and what `read` raises."""
    if not 0 < number <= _MAX_METADATA:
        raise Damaged(f"a scope names the metadata {number}")
    return int.from_bytes(read(metadata + 8 * (number - 1), 8), "little")


def read_debug_info(blob: Blob, layout: Layout, read: Read, charge: Charge) -> DebugInfo:
    """The debug information of an nmethod. Raises Damaged and what `read` raises."""
    its, header = layout.nmethod, blob.header
    base = blob.start
    pcs_offset = its.scopes_pcs_offset.of(header)
    if its.immutable_data:
        assert its.scopes_data_offset is not None
        assert its.immutable_size is not None
        base = its.immutable_data.of(header)
        scopes_begin = base + its.scopes_data_offset.of(header)
        scopes_end = base + its.immutable_size.of(header)
        pcs_end = scopes_begin
    else:
        assert its.dependencies_offset is not None
        pcs_end = base + its.dependencies_offset.of(header)
        if its.scopes_data_begin:
            scopes_begin = its.scopes_data_begin.of(header)
        else:
            assert its.scopes_data_offset is not None
            scopes_begin = base + its.scopes_data_offset.of(header)
        scopes_end = base + pcs_offset
    pcs_begin = base + pcs_offset
    if not (0 <= pcs_end - pcs_begin <= _MAX_BYTES and 0 <= scopes_end - scopes_begin <= _MAX_BYTES):
        raise Damaged("the debug information of a compiled method has no plausible size")
    scopes = read(scopes_begin, scopes_end - scopes_begin) if scopes_end > scopes_begin else b""
    size = its.pc_desc_bytes
    count = (pcs_end - pcs_begin) // size
    charge(count)
    offsets, scope_offsets, flags = _descriptions(read(pcs_begin, count * size) if count else b"", layout)
    handlers = []
    for field in its.deopt_handlers:
        value = field.of(header)
        if value > 0:
            handlers.append(value if field.size == 8 else blob.start + value)
    orig_pc = its.orig_pc_offset.of(header)
    return DebugInfo(
        method=its.method.of(header),
        metadata=_metadata(blob, layout),
        offsets=offsets,
        scope_offsets=scope_offsets,
        flags=flags,
        scopes=scopes,
        deopt_handlers=frozenset(handlers),
        orig_pc_words=orig_pc >> 3 if orig_pc >= 0 and not orig_pc & 7 else -1,
        level=its.level.of(header) if its.level and its.level.size else 0,
    )


def _descriptions(data: bytes, layout: Layout) -> tuple[list[int], list[int], list[int]]:
    """Offsets in the code, offsets of scopes and flags, but for the sentinels. Raises Damaged."""
    its = layout.nmethod
    words = its.pc_desc_bytes // 4
    fields = (its.pc_offset, its.scope_offset, its.pc_flags or its.pc_offset)
    if any(field.size != 4 or field.offset & 3 or field.offset >= 4 * words for field in fields):
        raise Damaged("the descriptions of compiled code do not consist of words")
    offset_at, scope_at, flags_at = (field.offset // 4 for field in fields)
    rows = [row for row in Struct(f"<{words}i").iter_unpack(data) if 0 <= row[offset_at] < _ALWAYS]
    offsets = [row[offset_at] for row in rows]
    if offsets != sorted(offsets):
        raise Damaged("the descriptions of a compiled method are not sorted")
    flags = [row[flags_at] for row in rows] if its.pc_flags else [0] * len(rows)
    return offsets, [row[scope_at] for row in rows], flags


def _metadata(blob: Blob, layout: Layout) -> int:
    """The address of the nmethod's metadata pointers."""
    its, blobs, header = layout.nmethod, layout.blob, blob.header
    if its.metadata_offset is None:
        assert blobs.mutable_data is not None
        relocations = blobs.relocation_size.of(header) if blobs.relocation_size else 0
        return blobs.mutable_data.of(header) + relocations
    offset = its.metadata_offset.of(header)
    if blobs.mutable_data:
        return blobs.mutable_data.of(header) + offset
    if its.immutable_data:
        return blob.start + blobs.data_offset.of(header) + offset
    return blob.start + offset
