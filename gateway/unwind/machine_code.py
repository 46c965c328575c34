"""The few x86-64 byte sequences that identify code without unwind entries."""

from __future__ import annotations

import re
from typing import Final

# A near CALL has 2 to 7 bytes, prefixes aside.
LONGEST_CALL: Final = 7

# `mov $15, %eax` in its two encodings, then `syscall`: rt_sigreturn, as the kernel finds it on the stack.
# musl (restore.s) and Go (runtime.sigreturn__sigaction) give it no entry; gdb recognizes these bytes too.
_SIGRETURN: Final = (
    b"\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05",
    b"\xb8\x0f\x00\x00\x00\x0f\x05",
)
LONGEST_SIGRETURN: Final = 9

# CPython ≥ 3.12 under `-X perf` calls each Python function through a copy of this (asm_trampoline.S):
# sub $8,%rsp; call *%rcx; add $8,%rsp; ret. It has neither a frame pointer nor an entry.
PYTHON_TRAMPOLINE: Final = b"\x48\x83\xec\x08\xff\xd1\x48\x83\xc4\x08\xc3"
# The call's return offset in it, and the distance from rsp to the CFA there.
PYTHON_TRAMPOLINE_RETURN: Final = 6
PYTHON_TRAMPOLINE_CFA: Final = 16

# Stubs of the procedure linkage table, as linkers write them. GNU ld describes its own by one entry; lld, and code
# rewritten by BOLT, has none: 1 in 900 samples of rustc's libLLVM. `plt_words` uses these forms.
PLT_STUB_BYTES: Final = 16
_PLT_FORMS: Final = tuple(
    (re.compile(form, re.DOTALL), places)
    for form, places in (
        # jmp *x(%rip); push $n; jmp header
        (rb"\xff\x25....\x68....\xe9....", {0: 1, 6: 1, 11: 2}),
        # the header: push x(%rip); jmp *y(%rip), or bnd jmp
        (rb"\xff\x35....\xff\x25....(?:\x0f\x1f\x40\x00|\xcc{4})", {0: 2, 6: 3}),
        (rb"\xff\x35....\xf2\xff\x25....\x0f\x1f\x00", {0: 2, 6: 3}),
        # for indirect branch tracking: endbr64; jmp *x(%rip), and endbr64; push $n; jmp header
        (rb"\xf3\x0f\x1e\xfa\xff\x25....\x66\x0f\x1f\x44\x00\x00", {0: 1, 4: 1}),
        (rb"\xf3\x0f\x1e\xfa\xf2\xff\x25....\x0f\x1f\x44\x00\x00", {0: 1, 4: 1}),
        (rb"\xf3\x0f\x1e\xfa\x68....\xe9....\x66\x90", {0: 1, 4: 1, 9: 2}),
        (rb"\xf3\x0f\x1e\xfa\x68....\xf2\xe9....\x90", {0: 1, 4: 1, 9: 2}),
        # .plt.got: jmp *x(%rip), padded to 8 bytes
        (rb"\xff\x25....\x66\x90", {0: 1}),
    )
)


def plt_words(around: bytes, place: int) -> int:
    """Words from rsp to the CFA at an instruction of a PLT stub; 0: it is not in a stub.

    `around` is code with the instruction at `place`, and up to `PLT_STUB_BYTES` on both sides.
    """
    for form, places in _PLT_FORMS:
        for into, words in places.items():
            if into <= place and form.match(around, place - into):
                return words
    return 0


def follows_call(before: bytes) -> bool:
    """Whether `before` ends with a CALL, so that a return address may follow.

    `before` has at least `LONGEST_CALL` bytes. Only the near forms are recognized: E8 rel32 and FF /2. Other bytes
    look like a call about once in 13 times, so the check refutes a guess; it does not prove one.
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
    """Whether `code` begins with the system call that returns from a signal handler."""
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
