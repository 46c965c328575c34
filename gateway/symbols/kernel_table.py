"""The running kernel's functions as offsets: the kernel table that symbolizer/kallsyms.py defines.

No address of this boot is in it (they would undo KASLR for whoever reads the store), so all machines with one
kernel and one set of modules write the same bytes. Code that was made up at run time (BPF programs) is of
this boot only and is left out.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gateway.kernel import Module

_SYMBOL: Final = re.compile(
    rb"^([0-9a-f]{1,16}) ([tTwW]) ([^\s]+)(?:[ \t]+\[([^\]\s]+)\])?[ \t]*$", re.MULTILINE
)


class _Functions:
    """Lines of one image, collected in the order of the kernel's list."""

    __slots__ = ("_base", "_limit", "_symbols", "count")

    def __init__(self, base: int, size: int) -> None:
        self._base = base
        self._limit = base + size if size else 1 << 64
        # As bytes of one kind each, so that 120 000 of them take 10 MB and not 30.
        self._symbols: list[bytes] = []

    def add(self, address: int, kind: bytes, name: bytes) -> None:
        if self._base <= address < self._limit:
            # Fixed width sorts by offset, then by name; the type is last.
            self._symbols.append(b"%016x %s %s" % (address - self._base, name, kind))

    def lines(self) -> list[bytes]:
        symbols = self._symbols
        if any(later < earlier for earlier, later in pairwise(symbols)):
            symbols.sort()
        return [
            b"%s %s %s\n" % (offset.lstrip(b"0") or b"0", kind, name)
            for offset, name, kind in (symbol.split(b" ") for symbol in symbols)
        ]


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
    body = kernel.lines()
    heads = [b"kernel %s %x %x" % (build_id.hex().encode() or b"-", end - start, len(body))]
    for loaded in sorted(modules, key=lambda module: module.name):
        name = loaded.name.encode()
        functions = images[name].lines() if name in images else []
        build = loaded.build_id.hex().encode() or b"-"
        heads.append(b"module %s %s %x %x" % (name, build, loaded.size, len(functions)))
        body += functions
        pause()
    return b"fleetprof kernel symbols 1\n" + b"\n".join(heads) + b"\n\n" + b"".join(body)
