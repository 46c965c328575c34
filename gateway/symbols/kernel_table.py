"""The running kernel's functions as offsets: the kernel table that symbolizer/kernel/kallsyms.py defines.

It has no address of this boot (which would reveal KASLR to every reader of the store), so all machines with the same
kernel and modules write the same bytes. Run-time code (BPF programs) exists in this boot only and is omitted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gateway.machine.kernel_map import Module

_SYMBOL: Final = re.compile(
    rb"^([0-9a-f]{1,16}) ([tTwW]) ([^\s]+)(?:[ \t]+\[([^\]\s]+)\])?[ \t]*$", re.MULTILINE
)


class _Functions:
    """Lines of one image, written as they arrive: 120 000 functions take 25 MB as objects and 4 MB as text."""

    __slots__ = ("_base", "_limit", "_newest", "_run", "_sorted", "_text", "count")

    def __init__(self, base: int, size: int) -> None:
        self._base = base
        self._limit = base + size if size else 1 << 64
        self._text = bytearray()
        # Functions at the same address, which the kernel lists in arbitrary order.
        self._run: list[tuple[bytes, bytes]] = []
        self._newest = base
        self._sorted = True
        self.count = 0

    def add(self, address: int, kind: bytes, name: bytes) -> None:
        if not self._base <= address < self._limit:
            return
        if address != self._newest:
            self._write()
            self._sorted = self._sorted and address > self._newest
            self._newest = address
        self._run.append((name, kind))
        self.count += 1

    def lines(self) -> bytes:
        """All lines, ascending by offset, then by name and type."""
        self._write()
        if self._sorted:
            return bytes(self._text)
        # A module's functions come in the order of its symbol table.
        ordered = sorted(bytes(self._text).splitlines(keepends=True), key=_place)
        return b"".join(ordered)

    def _write(self) -> None:
        offset = self._newest - self._base
        for name, kind in sorted(self._run):
            self._text += b"%x %s %s\n" % (offset, kind, name)
        self._run.clear()


def _place(line: bytes) -> tuple[int, bytes, bytes]:
    offset, kind, name = line.split()
    return int(offset, 16), name, kind


def kernel_table(
    kallsyms: Iterable[bytes],
    build_id: bytes,
    text: tuple[int, int],
    modules: Sequence[Module],
    pause: Callable[[], None],
) -> bytes:
    """The table, from kallsyms in pieces of any size; `text` is from `_stext` to `_etext`.

    `pause` is called between pieces of work.
    """
    start, end = text
    kernel = _Functions(start, end - start)
    images = {module.name.encode(): _Functions(module.base, module.size) for module in modules if module.base}
    tail = b""
    for piece in kallsyms:
        lines = tail + piece
        whole = lines.rfind(b"\n") + 1
        tail, lines = lines[whole:], lines[:whole]
        for address, kind, name, module in _SYMBOL.findall(lines):
            image = images.get(module) if module else kernel
            if image is not None:
                image.add(int(address, 16), kind, name)
        pause()
    bodies = [kernel.lines()]
    heads = [b"kernel %s %x %x" % (build_id.hex().encode() or b"-", end - start, kernel.count)]
    for loaded in sorted(modules, key=lambda module: module.name):
        name = loaded.name.encode()
        functions = images.get(name, _Functions(0, 1))
        build = loaded.build_id.hex().encode() or b"-"
        heads.append(b"module %s %s %x %x" % (name, build, loaded.size, functions.count))
        bodies.append(functions.lines())
        pause()
    return b"fleetprof kernel symbols 1\n" + b"\n".join(heads) + b"\n\n" + b"".join(bodies)
