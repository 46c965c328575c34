"""The interpreter: its code, and the frames it makes. Slots are those of x86-64 in every version from 8 on.

rbp points at the caller's rbp. Below it lie the sender's rsp, the last rsp, Method*, then (from JDK 9 on) the class's
mirror, and some more until the bytecode pointer, which the interpreter keeps in r13 while it runs bytecodes itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.runtimes.hotspot.errors import Damaged

if TYPE_CHECKING:
    from gateway.runtimes.hotspot.layout import InterpreterLayout
    from gateway.runtimes.hotspot.vm_structs import Read

_MAX_BYTES: Final = 16 << 20
_MAX_CODELETS: Final = 4096
_ENTRY: Final = b"method entry point"
# "… entry points", where callees return to.
_RETURNS: Final = (b"return entry", b"invoke return", b"deoptimization")
# The bytecode pointer's slot below Method*: mirror, mdp, cache, locals, bcp; without the mirror until JDK 8.
BCP_BELOW_METHOD: Final = (-5, -4)


class Interpreter:
    """The code of one JVM's interpreter."""

    def __init__(self, layout: InterpreterLayout, read: Read) -> None:
        """Raises Damaged and what `read` raises."""
        queue = int.from_bytes(read(layout.code.address, 8), "little")
        data = read(queue, max(layout.buffer.offset, layout.limit.offset) + 8)
        self.start = layout.buffer.of(data)
        size = layout.limit.of(data)
        if not 0 < size <= _MAX_BYTES:
            raise Damaged(f"an interpreter of {size} bytes is not plausible")
        self.end = self.start + size
        self.call_stub_return = int.from_bytes(read(layout.call_stub_return.address, 8), "little")
        self._entries: list[tuple[int, int]] = []
        self._returns: list[tuple[int, int]] = []
        self._read_codelets(layout, read)

    def contains(self, address: int) -> bool:
        """Whether an address lies in the interpreter."""
        return self.start <= address < self.end

    def is_method_entry(self, address: int) -> bool:
        """Whether an address lies in code that builds a method's frame."""
        return any(start <= address < end for start, end in self._entries)

    def is_return_entry(self, address: int) -> bool:
        """Whether an address lies in code to which methods return."""
        return any(start <= address < end for start, end in self._returns)

    def _read_codelets(self, layout: InterpreterLayout, read: Read) -> None:
        at = self.start
        described: dict[int, bytes] = {}
        for _ in range(_MAX_CODELETS):
            if at + layout.codelet_bytes > self.end:
                break
            header = read(at, layout.codelet_bytes)
            size = layout.codelet_size.of(header)
            if size <= 0:
                break
            text_at = layout.codelet_description.of(header)
            if text_at not in described:
                described[text_at] = read(text_at, len(_ENTRY)) if text_at else b""
            if described[text_at].startswith(_ENTRY):
                self._entries.append((at, at + size))
            elif described[text_at].startswith(_RETURNS):
                self._returns.append((at, at + size))
            at += size
