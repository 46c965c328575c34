"""Stacks recorded by a profiler from real programs, in the collapsed form that flame graphs are made from.

A line has one stack, outermost function first, and its number of samples:

    libc.so.6`__libc_start_call_main;main;PostgresMain;[kernel]`do_syscall_64 17

A frame is a function's linker symbol. A function outside the program's own file has the file's base name and a backtick
before it (DTrace's form); a kernel function has `[kernel]`. `infra/fold.py` makes such files from the output of `perf
script`; `recordings/README.md` describes the recordings.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from gzip import decompress
from importlib.resources import files
from types import MappingProxyType
from typing import Final

from simulation.calls import KERNEL, MAIN, Function

MAX_BYTES: Final = 4 << 20
MAX_STACKS: Final = 50_000
MAX_DEPTH: Final = 256
MAX_NAME: Final = 512
"""Longest frame, in characters."""
MAX_COUNT: Final = 10**12
_DIGITS: Final = len(str(MAX_COUNT))
_KERNEL_BINARY: Final = "[kernel]"
_FOLDER_OF_LIBRARIES: Final = "/usr/lib/x86_64-linux-gnu"

RECORDINGS: Final[Mapping[str, str]] = MappingProxyType(
    {"postgres": "postgres.folded.gz", "redis-server": "redis-server.folded.gz"}
)
"""Files in `recordings/` by the executable that was recorded."""


class BadRecording(ValueError):
    """The file is not a recording; the sentence names the invalid line and the reason."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A function by the base name of its file ("" is the program's own executable) and its symbol."""

    binary: str
    symbol: str


Stacks = Mapping[tuple[Frame, ...], int]
"""Samples by stack, the outermost frame first."""


def read_recording(data: bytes) -> Stacks:
    """The stacks of a file in its order; lines with the same stack are added up.

    Raises BadRecording if the file is too large, has no stack, or has an invalid line.
    """
    if len(data) > MAX_BYTES:
        raise BadRecording(f"The recording has {len(data):,} bytes; the limit is {MAX_BYTES:,}.")
    lines = data.removesuffix(b"\n").split(b"\n") if data else []
    if not lines:
        raise BadRecording("The recording has no stacks.")
    if len(lines) > MAX_STACKS:
        raise BadRecording(f"The recording has {len(lines):,} lines; the limit is {MAX_STACKS:,}.")
    found: dict[tuple[Frame, ...], int] = {}
    for number, line in enumerate(lines, 1):
        try:
            stack, count = _stack(line)
        except ValueError as error:
            raise BadRecording(f"Line {number}: {error}") from None
        found[stack] = found.get(stack, 0) + count
    return MappingProxyType(found)


@lru_cache(maxsize=len(RECORDINGS))
def stacks_of_program(program: str) -> Mapping[tuple[Function, ...], int]:
    """Samples by stack, outermost first, of a program of `RECORDINGS`. Raises KeyError for others."""
    data = files(__package__).joinpath("recordings", RECORDINGS[program]).read_bytes()
    return functions_of(read_recording(decompress(data)), program)


def functions_of(stacks: Stacks, program: str) -> Mapping[tuple[Function, ...], int]:
    """Samples by stack of the simulator's functions; frames that name the program as their file count as its own."""
    found: dict[tuple[Function, ...], int] = {}
    for frames, count in stacks.items():
        stack = tuple(Function(_image(frame.binary, program), frame.symbol) for frame in frames)
        found[stack] = found.get(stack, 0) + count
    return MappingProxyType(found)


def _image(binary: str, program: str) -> str:
    if binary in {"", program}:
        return MAIN
    return KERNEL if binary == _KERNEL_BINARY else f"{_FOLDER_OF_LIBRARIES}/{binary}"


def _stack(line: bytes) -> tuple[tuple[Frame, ...], int]:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8.") from None
    names, _, digits = text.rpartition(" ")
    if not names:
        raise ValueError("expected a stack, a space and a number of samples.")
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS):
        raise ValueError(f"the number of samples must be from 1 to {MAX_COUNT:,}.")
    if not 1 <= (count := int(digits)) <= MAX_COUNT:
        raise ValueError(f"the number of samples must be from 1 to {MAX_COUNT:,}.")
    if (depth := names.count(";") + 1) > MAX_DEPTH:
        raise ValueError(f"the stack is {depth:,} frames deep; the limit is {MAX_DEPTH}.")
    stack = tuple(_frame(name) for name in names.split(";"))
    in_kernel = [frame.binary == _KERNEL_BINARY for frame in stack]
    if in_kernel != sorted(in_kernel):
        raise ValueError("a function of the program is called by one of the kernel.")
    return stack, count


def _frame(name: str) -> Frame:
    if len(name) > MAX_NAME:
        raise ValueError(f"a frame has {len(name):,} characters; the limit is {MAX_NAME}.")
    if not name.isprintable():
        raise ValueError("a frame has unprintable characters.")
    binary, tick, symbol = name.partition("`")
    if not tick:
        binary, symbol = "", name
    if not symbol.strip() or "`" in symbol or (tick and not binary.strip()):
        raise ValueError(f"{name!r} has no function: expected FUNCTION or FILE`FUNCTION.")
    if binary != _KERNEL_BINARY and ("/" in binary or binary.startswith(("[", "."))):
        raise ValueError(f"{binary!r} is neither the base name of a file nor {_KERNEL_BINARY}.")
    return Frame(binary, symbol)
