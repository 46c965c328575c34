"""Unwinding by the bytes of the code, where no unwind entry covers it.

Bytes of a file are those that ran; anonymous memory is read from the process up to half a second after the sample. So
the bytes before an address never refute it as a return address in anonymous memory: JIT code moves while it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.unwind.frameless import LOOKED_AT, return_address_words
from gateway.unwind.machine_code import (
    LONGEST_CALL,
    LONGEST_SIGRETURN,
    PLT_STUB_BYTES,
    PYTHON_TRAMPOLINE,
    PYTHON_TRAMPOLINE_CFA,
    PYTHON_TRAMPOLINE_RETURN,
    follows_call,
    is_sigreturn,
    plt_words,
)
from gateway.unwind.rules import FROM_RSP, NO_ENTRY, SIGNAL_RULE, Rule

if TYPE_CHECKING:
    from gateway.process.address_space import AddressSpace
    from gateway.process.images import Images
    from gateway.process.maps import Vma

# Limit of cached addresses of one process, of each kind; a full cache is cleared.
MAX_REMEMBERED: Final = 1 << 15
# A return address that is valid only in the outermost frame, where rbp is 0.
IF_OUTERMOST: Final = -1
# Instead of the words to the caller: the code was examined and does not decide.
_FRAMED: Final = -1
_NO_UNWIND: Final = int(capture_pb2.STACK_END_NO_UNWIND)
_NO_MAPPING: Final = int(capture_pb2.STACK_END_NO_MAPPING)


class CodeBytes:
    """Reads the code of processes, files through `images`. Not thread-safe."""

    def __init__(self, images: Images) -> None:
        self._images = images

    def known_rule(self, pid: int, space: AddressSpace, vma: Vma, address: int) -> Rule | None:
        """Return the rule of code without an entry that its bytes identify. `address` is inside the instruction."""
        if vma.has_file:
            image = self._images.open(pid, vma)
            offset = address - vma.start + vma.offset
            if is_sigreturn(image.read(offset + 1, LONGEST_SIGRETURN)):
                return SIGNAL_RULE
            place = min(offset, PLT_STUB_BYTES)
            words = plt_words(image.read(offset - place, place + PLT_STUB_BYTES), place)
            return (FROM_RSP, words, 0, 0, None) if words else None
        if not space.may_run_python:
            return None
        code = self._images.read_memory(pid, address + 1 - PYTHON_TRAMPOLINE_RETURN, len(PYTHON_TRAMPOLINE))
        if code == PYTHON_TRAMPOLINE:
            return (FROM_RSP, PYTHON_TRAMPOLINE_CFA >> 3, 0, 0, None)
        return None

    def words_to_caller(
        self, pid: int, space: AddressSpace, ip: int, rbp: int, at_rsp: memoryview[int]
    ) -> int:
        """Words from rsp to the caller's at an instruction without an entry; 0: unknown, use the frame pointer.

        If they are known, rbp is the caller's. `at_rsp` holds the one or two words at rsp. The code is examined only
        if one of them may be a return address, which is false for most samples; the result is cached in the address's
        rule.
        """
        words = 2 if at_rsp[0] == rbp else 1
        return_address = at_rsp[words - 1] if words <= len(at_rsp) else 0
        vma = space.find(return_address - 1)
        if vma is None:
            return 0
        verdict = self.check_return_address(pid, space, return_address)
        if verdict and (rbp or verdict != IF_OUTERMOST):
            return 0
        known = space.rules[ip][1]
        if not known:
            known = self._words_by_code(pid, space, ip) or _FRAMED
            space.rules[ip] = (NO_ENTRY, known, 0, 0, None)
        return words if words == known else 0

    def _words_by_code(self, pid: int, space: AddressSpace, ip: int) -> int:
        """Words from rsp to behind the return address by the code's bytes; 0: they do not decide."""
        vma = space.find(ip)
        if vma is None:
            return 0
        first = max(vma.start, ip - 1)
        size = min(vma.end, ip + LOOKED_AT) - first
        if vma.has_file:
            code = self._images.open(pid, vma).read(first - vma.start + vma.offset, size)
        else:
            code = self._images.read_memory(pid, first, size)
        return return_address_words(code, ip - first)

    def check_return_address(self, pid: int, space: AddressSpace, address: int) -> int:
        """Return 0 if an address found without an entry may be a return address, else the end of the walk.

        `IF_OUTERMOST`: it may be one in the outermost frame only.
        """
        verdict = space.return_sites.get(address)
        if verdict is None:
            if len(space.return_sites) >= MAX_REMEMBERED:
                space.return_sites.clear()
            verdict = space.return_sites[address] = self._check_return_address(pid, space, address)
        return verdict

    def _check_return_address(self, pid: int, space: AddressSpace, address: int) -> int:
        vma = space.find(address - 1)
        if vma is None:
            return _NO_MAPPING
        if not vma.has_file:
            return 0  # JIT code moves while it runs: its current bytes are no evidence
        offset = address - vma.start + vma.offset
        before = self._images.open(pid, vma).read(offset - LONGEST_CALL, LONGEST_CALL)
        if len(before) < LONGEST_CALL:
            return _NO_UNWIND
        if follows_call(before):
            return 0
        # Go starts a goroutine as if goexit's first instruction, a NOP, had called it.
        return IF_OUTERMOST if before[-1] == 0x90 else _NO_UNWIND
