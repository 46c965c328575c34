"""The few x86-64 byte sequences that tell where code without unwind entries is."""

from __future__ import annotations

from typing import Final

# A near CALL has 2 to 7 bytes, prefixes aside.
LONGEST_CALL: Final = 7

# `mov $15, %eax` in its two encodings, then `syscall`: rt_sigreturn, as the kernel finds it on the stack.
# musl (restore.s) and Go (runtime.sigreturn__sigaction) give it no entry; gdb knows it by these bytes too.
_SIGRETURN: Final = (
    b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05",
    b"\xb8\x0f\x00\x00\x00\x0f\x05",
)
LONGEST_SIGRETURN: Final = 9

# CPython ≥ 3.12 under `-X perf` calls each Python function through a copy of this (asm_trampoline.S):
# sub $8,%rsp; call *%rcx; add $8,%rsp; ret. It keeps no frame pointer and has no entry.
PYTHON_TRAMPOLINE: Final = b"\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3"
# Where in it the call returns to, and how far above rsp the CFA then is.
PYTHON_TRAMPOLINE_RETURN: Final = 6
PYTHON_TRAMPOLINE_CFA: Final = 16


def follows_call(before: bytes) -> bool:
    """Whether the last bytes of `before` are a CALL, so that what follows can be a return address.

    `before` is at least `LONGEST_CALL` bytes. Only the near forms are looked for: E8 rel32 and FF /2.
    Other bytes look like a call about once in 13 times, so this refutes a guess; it does not prove one.
    """
    if before[-5] == 0xE8:
        return True
    # FF /2 with its ModRM byte: mod selects the displacement, r/m 4 adds a SIB byte.
    for length in (2, 3, 4, 6, 7):
        if before[-length] != 0xFF:
            continue
        modrm = before[1 - length]
        if modrm & 0x38 != 0x10:
            continue
        if length == _call_length(modrm, before[2 - length] if length > 2 else 0):
            return True
    return False


def is_sigreturn(code: bytes) -> bool:
    """Whether `code` begins with the system call that leaves a signal handler."""
    return code.startswith(_SIGRETURN)


def _call_length(modrm: int, sib: int) -> int:
    mode, register = modrm >> 6, modrm & 7
    if mode == 3:
        return 2
    has_sib = register == 4
    length = 3 if has_sib else 2
    if mode == 1:
        return length + 1
    if mode == 2 or register == 5 or (has_sib and sib & 7 == 5):
        return length + 4
    return length
