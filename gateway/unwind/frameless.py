"""Detects where code without unwind entries has no frame: the instructions themselves prove it.

At the first and last instruction of a function, and throughout a function without a frame, rbp is still the caller's,
so a walk by frame pointers skips the caller. The distance from rsp to the return address at an instruction does not
depend on the path to it. So if the path from the instruction to RET, or to the frame setup, leaves rsp unchanged, rsp
points at the return address at the instruction too.
"""

from __future__ import annotations

from typing import Final

from gateway.unwind.instructions import plain_length

# Bytes and instructions examined from the instruction on; most function ends are nearer.
LOOKED_AT: Final = 96
_MOST_INSTRUCTIONS: Final = 24

# push %rbp; mov %rsp,%rbp in both encodings.
_FRAME_BEGINS: Final = (b"\x55\x48\x89\xe5", b"\x55\x48\x8b\xec")
_RETURNS: Final = (b"\xc3", b"\xc2", b"\xf3\xc3", b"\xf2\xc3")


def return_address_words(code: bytes, place: int) -> int:
    """Words from rsp to behind the return address at an instruction: 1, or 2 once rbp is pushed; 0: unknown.

    `code` has the instruction at `place`, one byte before it if there is one, and up to `LOOKED_AT` bytes from it.
    """
    if place and code.startswith(_FRAME_BEGINS, place - 1):
        return 2
    at = place
    for _ in range(_MOST_INSTRUCTIONS):
        if code.startswith(_RETURNS, at) or code.startswith(_FRAME_BEGINS, at):
            return 1
        target = _jump_target(code, at)
        if target is not None:
            if not at < target < len(code):
                return 0
            at = target
            continue
        length = plain_length(code, at)
        if not length:
            return 0
        at += length
    return 0


def _jump_target(code: bytes, at: int) -> int | None:
    """Target of a direct jump; None: the instruction is not one, or is cut off."""
    opcode = code[at : at + 1]
    if opcode == b"\xeb" and at + 2 <= len(code):
        return at + 2 + int.from_bytes(code[at + 1 : at + 2], "little", signed=True)
    if opcode == b"\xe9" and at + 5 <= len(code):
        return at + 5 + int.from_bytes(code[at + 1 : at + 5], "little", signed=True)
    return None
