"""What the reader yields: source-level frames."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class FrameKind(IntEnum):
    """How the method ran."""

    INTERPRETED = 1
    COMPILED = 2
    INLINED = 3
    """Inlined into the compiled method that follows."""
    NATIVE = 4
    """A wrapper that calls a native method."""
    STUB = 5
    """Code of the JVM that belongs to no method."""


class JavaFrame(NamedTuple):
    """One activation: `function` is class.method, `file` the class's source file.

    `line` is being executed, `first_line` is that of the method's first bytecode; 0: unknown.
    """

    function: str
    file: str
    line: int
    kind: FrameKind
    first_line: int = 0
