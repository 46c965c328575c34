"""Where the caller is while code of the JVM builds or removes its frame, by the code's bytes. Pure.

HotSpot's compilers emit few forms. On entry: `push %rbp; [mov %rsp,%rbp;] sub $N,%rsp`, or `sub $N,%rsp; mov %rbp,M(%rsp)`.
On exit: `add $N,%rsp; pop %rbp`, then a safepoint poll and `ret`, none of which moves rsp.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from gateway.unwind.frameless import return_address_words
from gateway.unwind.rules import FROM_RBP, FROM_RSP, Rule

ENTRY_BYTES: Final = 192
LOOKED_AT: Final = 96
_BANG: Final = rb"(?:\x89\x84\x24(?s:....))?"
_PUSHED: Final = re.compile(
    _BANG + rb"(\x55)(\x48\x8b\xec|\x48\x89\xe5)?(\x48\x81\xec(?s:....)|\x48\x83\xec(?s:.))?"
)
_STORED: Final = re.compile(
    _BANG + rb"(\x48\x81\xec(?s:....)|\x48\x83\xec(?s:.))(\x48\x89\x6c\x24(?s:.)|\x48\x89\xac\x24(?s:....))"
)
_RETURN: Final = 0xC3
# pop %rbp, clearing of vector registers, the safepoint poll in its longest form, ret.
_EXIT_BYTES: Final = 32
_POP: Final = re.compile(rb"(?:\x41[\x58-\x5f]|[\x58-\x5b\x5e\x5f])")
_TO_RSP: Final = re.compile(
    rb"(?:\x48\x8b[\xe0-\xe3\xe5-\xe7]|\x49\x8b[\xe0-\xe7]|[\x48\x4c]\x89[\xc4\xcc\xd4\xdc\xec\xf4\xfc])"
)
_JUMP: Final = re.compile(rb"(?:\x41\xff[\xe0-\xe7]|\xff[\xe0-\xe7])")

# perf's index of each register by its number in instructions: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8…r15.
PERF_INDEX: Final = (0, 2, 3, 1, 7, 6, 4, 5, 12, 13, 14, 15, 16, 17, 18, 19)


_AT_TOP: Final[Rule] = (FROM_RSP, 1, 0, 0, None)
_BELOW_RBP: Final[Rule] = (FROM_RSP, 2, -2, 0, None)
_BY_RBP: Final[Rule] = (FROM_RBP, 2, -2, 0, None)


def leaf_rule(entry: bytes, offset: int, code: bytes, frame_words: int, complete: int) -> Rule:
    """How the caller is found from an interrupted instruction of a blob whose frame has `frame_words`.

    `entry` are the bytes from the entry on, where the frame is built, and `offset` is the instruction's distance from
    there; `code` are the bytes from the instruction on. `complete`: the distance at which the compiler says that the
    frame is complete.
    """
    if not frame_words or offset < 0:
        return _AT_TOP
    if _RETURN not in code[:_EXIT_BYTES]:
        pass  # too far from the end of a function for the frame to be gone
    elif code[:1] == b"\x5d" and return_address_words(code[1:], 0) == 1:
        return _BELOW_RBP
    elif code[:1] != b"\x55" and return_address_words(code, 0) == 1:
        return _AT_TOP
    if pushed := _PUSHED.match(entry):
        if offset <= pushed.start(1):
            return _AT_TOP
        if pushed[3]:
            if offset <= pushed.start(3):
                return _BELOW_RBP
        elif offset == pushed.end(1):
            return _BELOW_RBP
        elif pushed[2]:
            return _BY_RBP
    elif stored := _STORED.match(entry):
        if offset <= stored.start(1):
            return _AT_TOP
        if offset <= stored.start(2):
            return (FROM_RSP, frame_words, 0, 0, None)
    elif offset < complete:
        return _AT_TOP
    return (FROM_RSP, frame_words, -2, 0, None)


class Exit(NamedTuple):
    """The end of the interpreter's frame removal: registers by perf's index, −1: the top of the stack."""

    target: int
    stack: int


def interpreter_exit(code: bytes) -> Exit | None:
    """Whether these instructions return to the caller although the frame is gone: `[pop R;] [mov S,%rsp;] jmp *R`."""
    at = 0
    popped = _POP.match(code)
    if popped:
        at = popped.end()
    moved = _TO_RSP.match(code, at)
    if moved:
        at = moved.end()
    jump = _JUMP.match(code, at)
    if jump is None or not (moved or popped):
        return None
    target = _register(jump[0], extended=jump[0][0] == 0x41)
    if popped and _register(popped[0], extended=popped[0][0] == 0x41) != target:
        return None
    source = -1
    if moved:
        raw = moved[0]
        number = raw[2] & 7 if raw[1] == 0x8B else raw[2] >> 3 & 7
        source = PERF_INDEX[number | (8 if raw[0] in {0x49, 0x4C} else 0)]
    return Exit(-1 if popped else target, source)


def _register(raw: bytes, *, extended: bool) -> int:
    return PERF_INDEX[raw[-1] & 7 | (8 if extended else 0)]


class Call(NamedTuple):
    """The call before a return address: its target, 0 if it is in a register or in memory."""

    target: int


def call_before(code: bytes, return_address: int) -> Call | None:
    """The call that the bytes before a return address end with; None: there is none.

    `code` are the 16 bytes before it, of which the last are the call's.
    """
    if len(code) >= 5 and code[-5] == 0xE8:
        return Call(return_address + int.from_bytes(code[-4:], "little", signed=True) & (1 << 64) - 1)
    if len(code) >= 13 and code[-3:] == b"\x41\xff\xd2" and code[-13:-11] == b"\x49\xba":
        return Call(int.from_bytes(code[-11:-3], "little"))
    if len(code) >= 3 and code[-3] == 0x41 and code[-2] == 0xFF and code[-1] & 0xF8 == 0xD0:
        return Call(0)
    if len(code) >= 2 and code[-2] == 0xFF and code[-1] & 0xF8 == 0xD0:
        return Call(0)
    for length in (3, 4, 6, 7):
        if len(code) > length and code[-length] == 0xFF and code[1 - length] >> 3 & 7 == 2:
            return Call(0)
    return None
