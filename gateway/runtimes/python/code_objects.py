"""Names and lines of a process's code objects, from their copies in the BPF program's records.

What a copy contains is only trusted after its types agree: the object must be of the interpreter's own code type, its
name and file of the text type. So memory that was reused in the meantime, or a build with another layout, gives no
frames rather than wrong ones. A program may forge its own frames, as it may forge its own symbols.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from gateway.runtimes.python.line_tables import LineTable

if TYPE_CHECKING:
    from gateway.runtimes.python.frame_records import RawCode
    from gateway.runtimes.python.layouts import Layout, Text

_WORD: Final = struct.Struct("<Q")
_INT: Final = struct.Struct("<I")
_SIGNED: Final = struct.Struct("<i")
_TYPE_AT: Final = 8
_LENGTH_AT: Final = 16
_MAX_LINE: Final = (1 << 31) - 1
_CODECS: Final = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}
_CUT: Final = "…"


class PythonFrame(NamedTuple):
    """A frame by its source: qualified name (up to 3.10 the plain name), file, executing line, line of definition.

    A line is 0 if unknown.
    """

    function: str
    file: str
    line: int
    first_line: int


class _Code(NamedTuple):
    function: str
    file: str
    first_line: int
    lines: LineTable
    first_instruction: int


# CPython pushes a frame of this code object between a class's __init__ and its caller (3.12 on): it is no call.
_CLEANUP: Final = "__init__"


class CodeObjects:
    """The code objects of one process by address; the newest copy counts."""

    def __init__(self, layout: Layout, types: tuple[int, int]) -> None:
        """`types`: addresses of the types of code and text objects in the process."""
        self._layout = layout
        self._types = types
        self._codes: dict[int, _Code] = {}
        self.refused = 0
        """Copies that are no code objects."""

    def __len__(self) -> int:
        return len(self._codes)

    def __contains__(self, address: int) -> bool:
        return address in self._codes

    def learn(self, raw: RawCode) -> bool:
        """Take a copy; False: it is no code object, and a former one at its address is forgotten."""
        code = self._read(raw)
        if code is None:
            self.refused += 1
            self._codes.pop(raw.address, None)
            return False
        self._codes[raw.address] = code
        return True

    def frame(self, address: int, instruction: int) -> PythonFrame | None:
        """The frame that executes `instruction` of a code object; None: the object is not known."""
        code = self._codes.get(address)
        if code is None:
            return None
        line = code.lines.line(self._offset(code, instruction))
        return PythonFrame(code.function, code.file, line, code.first_line)

    def is_call(self, frame: PythonFrame) -> bool:
        """Whether it is a frame of the program, not one that CPython inserted."""
        return not (frame.function == frame.file == _CLEANUP)

    def _offset(self, code: _Code, instruction: int) -> int:
        """Byte offset in the code; negative before the first instruction, where a frame begins."""
        if self._layout.code_instructions is None:
            index: int = _SIGNED.unpack(_INT.pack(instruction & 0xFFFFFFFF))[0]
            return index if self._layout.version == (3, 9) else index * 2
        return instruction - code.first_instruction

    def _read(self, raw: RawCode) -> _Code | None:
        layout = self._layout
        code_type, text_type = self._types
        if _WORD.unpack_from(raw.head, _TYPE_AT)[0] != code_type:
            return None
        if any(_WORD.unpack_from(text, _TYPE_AT)[0] != text_type for text in (raw.name, raw.file)):
            return None
        function, file = read_text(raw.name, layout.text), read_text(raw.file, layout.text)
        if not function or file is None:
            return None
        first_line: int = _SIGNED.unpack_from(raw.head, layout.code_first_line)[0]
        first_line = max(0, first_line)
        return _Code(
            function,
            file,
            first_line,
            LineTable(layout.version, raw.table, first_line, is_cut=raw.is_cut),
            raw.address + (layout.code_instructions or 0),
        )


def read_text(raw: bytes, layout: Text) -> str | None:
    """The text of a copied str object, shortened if the copy is; None: it is none, or not of the compact form."""
    state: int = _INT.unpack_from(raw, layout.state)[0]
    length: int = _WORD.unpack_from(raw, _LENGTH_AT)[0]
    kind, is_compact, is_ascii = state >> 2 & 7, state >> 5 & 1, state >> 6 & 1
    codec = _CODECS.get(kind)
    if codec is None or not is_compact or (is_ascii and kind != 1) or length > 1 << 31:
        return None
    start = layout.ascii_data if is_ascii else layout.data
    available = (len(raw) - start) // kind
    text = raw[start : start + min(length, available) * kind].decode(codec, "replace")
    if length > available:
        text = text[:-1] + _CUT
    # Control characters, which no name needs, would break tables and terminals.
    return (
        text
        if text.isprintable()
        else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    )
