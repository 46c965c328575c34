"""What an interpreter's file states: version, layout, and the addresses of what frames are checked and merged by.

Only the file is read, never the process: all of it is exported, so `strip` leaves it, and constant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Final

from gateway.errors import RuntimeUnsupported
from gateway.runtimes.dynamic_symbols import DynamicSymbols, Symbol
from gateway.runtimes.python.layouts import (
    DEBUG_OFFSETS_BYTES,
    LAYOUTS,
    Layout,
    layout_of,
    require_supported,
    states_own_layout,
)

if TYPE_CHECKING:
    from gateway.unwind.elf import ElfLayout, Read

_VERSION_IN_NAME: Final = re.compile(r"python(\d)\.(\d{1,2})")
_FREE_THREADED_NAME: Final = re.compile(r"python\d\.\d{1,2}d?t")
_LONG: Final = Struct("<Q")
_TYPES: Final = ("PyCode_Type", "PyUnicode_Type", "PyBytes_Type")


@dataclass(frozen=True, slots=True)
class InterpreterFile:
    """One build of CPython. Addresses are virtual ones of the file.

    `types`: of code, text and bytes objects. `evaluation`: file offsets [start, end) of _PyEval_EvalFrameDefault.
    """

    layout: Layout
    runtime: int
    types: tuple[int, int, int]
    evaluation: tuple[int, int]


def read_interpreter(name: str, elf: ElfLayout, read: Read) -> InterpreterFile | None:
    """The interpreter in a file called `name`; None: there is none in it. Raises RuntimeUnsupported."""
    symbols = DynamicSymbols(elf, read)
    runtime = symbols.find("_PyRuntime")
    if runtime is None:
        return None
    if _FREE_THREADED_NAME.search(name):
        raise RuntimeUnsupported(f"{name} is free-threaded CPython, which is not supported")
    types = [symbols.find(name) for name in _TYPES]
    code, text, data = (0 if each is None else each.address for each in types)
    if not (code and text and data):
        raise RuntimeUnsupported(f"{name} does not export CPython's types")
    layout = _layout(name, elf, read, symbols, runtime)
    start, end = 0, 0
    evaluation = symbols.find("_PyEval_EvalFrameDefault")
    if evaluation is not None and (offset := elf.offset(evaluation.address)) is not None:
        start, end = offset, offset + evaluation.size
    return InterpreterFile(layout, runtime.address, (code, text, data), (start, end))


def _layout(name: str, elf: ElfLayout, read: Read, symbols: DynamicSymbols, runtime: Symbol) -> Layout:
    offset = elf.offset(runtime.address)
    start = b"" if offset is None else read(offset, DEBUG_OFFSETS_BYTES)
    if states_own_layout(start):
        return layout_of(start)
    version = _version(name, elf, read, symbols)
    require_supported(version)
    layout = LAYOUTS.get(version)
    if layout is None:
        raise RuntimeUnsupported(
            f"CPython {version[0]}.{version[1]} in {name} does not state its layout (a pre-release, or a build of another kind)"
        )
    return layout


def _version(name: str, elf: ElfLayout, read: Read, symbols: DynamicSymbols) -> tuple[int, int]:
    exported = symbols.find("Py_Version")  # 3.11 and later
    if exported is not None and (offset := elf.offset(exported.address)) is not None:
        raw = read(offset, _LONG.size)
        if len(raw) == _LONG.size:
            number: int = _LONG.unpack(raw)[0]
            return number >> 24 & 0xFF, number >> 16 & 0xFF
    found = _VERSION_IN_NAME.search(name)
    if found is None:
        raise RuntimeUnsupported(
            f"the version of CPython in {name} is not known: neither the file nor its name states it"
        )
    return int(found[1]), int(found[2])
