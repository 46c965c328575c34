"""Where code without unwind entries has no frame of its own yet, or no more: proved by the instructions themselves.

At a function's first instruction, at its last and throughout one that needs no frame, rbp is still the caller's, so
following it leaves the caller out. How far rsp is from the return address at an instruction is the same however the
program came there. So if the way from it to RET, or to where the frame is made, leaves rsp alone, then rsp points at
the return address here too.
"""

from __future__ import annotations

from typing import Final

from gateway.unwind.instructions import plain_length

# Bytes looked at from the instruction on, and instructions; most ends of functions are nearer.
LOOKED_AT: Final = 96
_MOST_INSTRUCTIONS: Final = 24

# push %rbp; mov %rsp,%rbp in both encodings.
_FRAME_BEGINS: Final = (b"\x55\x48\x89\xe5", b"\x55\x48\x8b\xec")
_RETURNS: Final = (b"\xc3", b"\xc2", b"\xf3\xc3", b"\xf2\xc3")


def return_address_words(code: bytes, place: int) -> int:
    """Words from rsp to behind the return address at an instruction: 1, or 2 once rbp is pushed; 0: not known.

    `code` has the instruction at `place`, a byte before it if there is one, and `LOOKED_AT` from it on as far as
    there are.
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
    """Where a direct jump leads; None: the instruction is none, or cut off."""
    opcode = code[at : at + 1]
    if opcode == b"\xeb" and at + 2 <= len(code):
        return at + 2 + int.from_bytes(code[at + 1 : at + 2], "little", signed=True)
    if opcode == b"\xe9" and at + 5 <= len(code):
        return at + 5 + int.from_bytes(code[at + 1 : at + 5], "little", signed=True)
    return None
