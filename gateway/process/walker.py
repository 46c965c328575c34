"""Walk one copied stack: registers and bytes in, return addresses out.

A walk never guesses silently. It follows unwind entries where there are any. Where code has none, it
takes one step by frame pointer, marks the frame so found, and only if the address found lies in an
executable mapping and, in a file, after a CALL. Anything else ends the walk with a reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

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
from gateway.unwind.rules import (
    FROM_RBP,
    FROM_RSP,
    NO_ENTRY,
    OUTERMOST,
    SIGNAL,
    SIGNAL_RULE,
    UNMAPPED,
    UNMAPPED_RULE,
    UNUSUAL,
    Rule,
)
from gateway.unwind.unusual import LOST, CannotStep, Frame

if TYPE_CHECKING:
    from gateway.process.address_space import AddressSpace
    from gateway.process.images import Images
    from gateway.process.maps import Vma

# Places in the 20 registers that perf delivers on x86-64 (asm/perf_regs.h, without segments).
RBX: Final = 1
RBP: Final = 6
RSP: Final = 7
RIP: Final = 8

# The kernel's rt_sigframe from rsp on, once the handler has returned: ucontext, whose general registers
# begin at word 5 in the order r8…r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip (asm/sigcontext.h).
_SIGNAL_FRAME_WORDS: Final = 22
_SIGNAL_REGISTERS: Final = (18, 16, 19, 17, 14, 13, 15, 20, 21, 0, 0, 0, 5, 6, 7, 8, 9, 10, 11, 12)

# A frame pointer further above rsp than the usual stack limit is no frame pointer.
_STACK_LIMIT_WORDS: Final = (8 << 20) >> 3
# Distinct addresses remembered of one process; they are dropped when full.
_MAX_REMEMBERED: Final = 1 << 15
_COMPLETE: Final = int(capture_pb2.STACK_END_COMPLETE)
_TRUNCATED: Final = int(capture_pb2.STACK_END_TRUNCATED)
_NO_UNWIND: Final = int(capture_pb2.STACK_END_NO_UNWIND)
_NO_MAPPING: Final = int(capture_pb2.STACK_END_NO_MAPPING)
_BAD_STACK: Final = int(capture_pb2.STACK_END_BAD_STACK)
_TOO_DEEP: Final = int(capture_pb2.STACK_END_TOO_DEEP)

# In the place of the words to the caller: the code was looked at, and does not tell.
_FRAMED: Final = -1
# Of a return address: only if no frame is above it, as rbp is 0 then.
_IF_OUTERMOST: Final = -1
_LEAF_ONLY: Final[tuple[int, ...]] = (0,)
_NONE: Final[tuple[int, ...]] = ()


class Walk(NamedTuple):
    """A walked stack. A named tuple, as making one is a tenth of the cost of a short walk.

    `addresses` are of the process, leaf first. Those at the positions in `exact` are of the instruction
    itself (the leaf, and what a signal interrupted); all others are return addresses. Those at the
    positions in `by_frame_pointer` were found by frame pointer. `end` is a `capture_pb2.StackEnd`.
    """

    addresses: list[int]
    end: int
    exact: tuple[int, ...]
    by_frame_pointer: tuple[int, ...]


class Walker:
    """Walks stacks by the unwind tables of `images`. Not for use by several threads at once."""

    def __init__(self, images: Images, *, max_depth: int = 256) -> None:
        self._images = images
        self._max_depth = max_depth
        self.stacks_walked = 0

    def walk(
        self, pid: int, space: AddressSpace, regs: tuple[int, ...], stack: memoryview[int], size: int
    ) -> Walk:
        """Walk the stack of a 64-bit process.

        `regs` are the 20 registers of PERF_SAMPLE_REGS_USER in the kernel's order, `stack` the copied
        memory from rsp on, cast to 'Q', of which `size` bytes are valid.

        This is one loop, with all rules in it and every value in a local variable: a frame costs 0.35 µs
        here, and a call that takes and returns this state 0.1 µs alone. Positions on the stack are indexes
        of words from the leaf's rsp, so that a step is an addition and its bounds are two comparisons.
        """
        self.stacks_walked += 1
        origin = regs[RSP]
        rbp = regs[RBP]
        rbx = regs[RBX]
        rbx_at = -1  # where rbx is saved, read when it is asked for, which is rare; < 0: `rbx` is its value
        ip = regs[RIP]
        limit = min(size >> 3, len(stack))
        known = space.rules.get
        registers: tuple[int, ...] = regs  # all of them: valid only while `back` is 0
        top = 0  # index of the word that rsp points at; 0 ≤ top ≤ limit throughout
        back = 0  # 1 when ip is a return address: the call itself lies before it
        addresses: list[int] = []
        append = addresses.append
        exact = _LEAF_ONLY
        guessed = _NONE
        end = _TOO_DEEP
        for _ in range(self._max_depth):
            rule = known(ip - back)
            if rule is None:
                rule = self._find_rule(pid, space, ip - back)
            kind, cfa, saved_rbp, saved_rbx, unusual = rule
            if kind == FROM_RSP:
                caller = top + cfa
            elif kind == FROM_RBP:
                distance = rbp - origin
                if distance & 7:
                    append(ip)
                    end = _BAD_STACK
                    break
                caller = (distance >> 3) + cfa
            elif kind == NO_ENTRY:
                append(ip)
                if not back and cfa >= 0 and top < limit:
                    known_words = self._words_to_caller(pid, space, ip, rbp, stack[top : min(top + 2, limit)])
                    if known_words:
                        top += known_words
                        ip = stack[top - 1]
                        back = 1
                        continue
                distance = rbp - origin
                frame = distance >> 3
                if not rbp and back:
                    end = _COMPLETE  # the psABI marks the outermost frame by a zero rbp (musl, Go)
                    break
                if frame < top or distance & 7 or frame - top > _STACK_LIMIT_WORDS:
                    end = self._off_the_stack(pid, space, ip - back) if rbp else _NO_UNWIND
                    break
                if frame + 2 > limit:
                    end = _TRUNCATED
                    break
                ip = stack[frame + 1]
                rbp = stack[frame]
                rbx, rbx_at = LOST, -1
                if not ip:
                    end = _COMPLETE
                    break
                verdict = space.return_sites.get(ip)
                if verdict is None:
                    verdict = self._judge_return(pid, space, ip)
                if verdict and (rbp or verdict != _IF_OUTERMOST):
                    end = _NO_UNWIND if verdict == _IF_OUTERMOST else verdict
                    break
                guessed += (len(addresses),)
                top = frame + 2
                back = 1
                continue
            elif kind == UNUSUAL:
                append(ip)
                assert unusual is not None
                known_registers = None if back else registers
                if rbx_at >= 0:
                    rbx, rbx_at = stack[rbx_at], -1
                frame_now = Frame(ip, origin + (top << 3), rbp, rbx, known_registers, stack, origin, limit)
                try:
                    ip, top, rbp, rbx = frame_now.caller(unusual)
                except CannotStep as reason:
                    end = reason.end
                    break
                back = 1
                if not ip:
                    end = _COMPLETE
                    break
                continue
            elif kind == SIGNAL:
                append(ip)
                if top + _SIGNAL_FRAME_WORDS > limit:
                    end = _TRUNCATED
                    break
                words = stack[top : top + _SIGNAL_FRAME_WORDS].tolist()
                registers = tuple([words[place] for place in _SIGNAL_REGISTERS])
                ip, rbp, rbx = registers[RIP], registers[RBP], registers[RBX]
                rbx_at = -1
                distance = registers[RSP] - origin
                back = 0
                exact += (len(addresses),)
                if distance & 7 or not 0 <= distance >> 3 <= limit:
                    # The handler ran on a stack of its own (sigaltstack); the other was not copied.
                    append(ip)
                    end = _TRUNCATED
                    break
                top = distance >> 3
                continue
            elif kind == UNMAPPED:
                end = _NO_MAPPING
                if not back:
                    append(ip)  # where the program was, wherever that is; a return address there is bogus
                break
            else:
                append(ip)
                end = _COMPLETE if kind == OUTERMOST else _NO_UNWIND
                break
            append(ip)
            if caller <= top:
                end = _BAD_STACK
                break
            if caller > limit:
                end = _TRUNCATED
                break
            if saved_rbp:
                slot = caller + saved_rbp
                # GCC's epilogues pop rbp and leave the row saying "saved": its slot is then below rsp, and
                # the register holds the caller's value again.
                if slot >= top:
                    rbp = stack[slot]
            if saved_rbx:
                rbx_at = caller + saved_rbx
            ip = stack[caller - 1]
            top = caller
            back = 1
            if not ip:
                end = _COMPLETE
                break
        else:
            # The next frame was judged already, but there is no room for it.
            exact = tuple([place for place in exact if place < self._max_depth])
            guessed = tuple([place for place in guessed if place < self._max_depth])
        return Walk(addresses, end, exact, guessed)

    def function_start(self, pid: int, vma: Vma, lookup_offset: int) -> int | None:
        """Return the file offset where the unwind entry that covers an offset begins; None: none does.

        `lookup_offset` is a file offset inside the instruction: one byte before a return address.
        """
        return self._images.open(pid, vma).rules.function_start(lookup_offset)

    def _find_rule(self, pid: int, space: AddressSpace, address: int) -> Rule:
        if len(space.rules) >= _MAX_REMEMBERED:
            space.rules.clear()
        vma = space.find(address)
        if vma is None:
            rule = UNMAPPED_RULE
        else:
            image = self._images.open(pid, vma)
            offset = address - vma.start + vma.offset
            rule = image.rules.rule(offset)
            if rule[0] == NO_ENTRY:
                rule = self._known_code(pid, space, vma, address) or rule
        space.rules[address] = rule
        return rule

    def _known_code(self, pid: int, space: AddressSpace, vma: Vma, address: int) -> Rule | None:
        """Return the rule of code that has no entry but is known by its bytes. `address` is looked up."""
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

    def _words_to_caller(
        self, pid: int, space: AddressSpace, ip: int, rbp: int, at_rsp: memoryview[int]
    ) -> int:
        """Words from rsp to the caller's at an instruction that no entry covers; 0: only by frame pointer, if at all.

        rbp is then the caller's. `at_rsp` are the one or two words there. The code is looked at only if what lies
        there can be a return address, as in most samples it cannot; what was found is kept as the address's rule.
        """
        words = 2 if at_rsp[0] == rbp else 1
        return_address = at_rsp[words - 1] if words <= len(at_rsp) else 0
        vma = space.find(return_address - 1)
        if vma is None:
            return 0
        verdict = self._judge_return(pid, space, return_address)
        if verdict and (rbp or verdict != _IF_OUTERMOST):
            return 0
        known = space.rules[ip][1]
        if not known:
            known = self._look_at_frame(pid, space, ip) or _FRAMED
            space.rules[ip] = (NO_ENTRY, known, 0, 0, None)
        return words if words == known else 0

    def _look_at_frame(self, pid: int, space: AddressSpace, ip: int) -> int:
        """Words from rsp to behind the return address by the code's own bytes; 0: they do not tell."""
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

    def _off_the_stack(self, pid: int, space: AddressSpace, address: int) -> int:
        """How a walk ends whose frame pointer leads off the copied stack.

        Go keeps frame pointers in all its code, and runs its collector on the thread's stack for a goroutine
        on another (runtime.systemstack): that one was not copied.
        """
        vma = space.find(address)
        is_go = vma is not None and vma.has_file and self._images.open(pid, vma).is_go
        return _TRUNCATED if is_go else _NO_UNWIND

    def _judge_return(self, pid: int, space: AddressSpace, address: int) -> int:
        """Return 0 if an address found without an entry can be a return address, else how the walk ends.

        `_IF_OUTERMOST`: it can if it is the last one.
        """
        verdict = space.return_sites.get(address)
        if verdict is None:
            if len(space.return_sites) >= _MAX_REMEMBERED:
                space.return_sites.clear()
            verdict = space.return_sites[address] = self._judge(pid, space, address)
        return verdict

    def _judge(self, pid: int, space: AddressSpace, address: int) -> int:
        vma = space.find(address - 1)
        if vma is None:
            return _NO_MAPPING
        if not vma.has_file:
            return 0  # JIT code moves while it runs: its bytes now say nothing about then
        offset = address - vma.start + vma.offset
        before = self._images.open(pid, vma).read(offset - LONGEST_CALL, LONGEST_CALL)
        if len(before) < LONGEST_CALL:
            return _NO_UNWIND
        if follows_call(before):
            return 0
        # Go starts a goroutine as if goexit's first instruction, a NOP, had called it.
        return _IF_OUTERMOST if before[-1] == 0x90 else _NO_UNWIND
