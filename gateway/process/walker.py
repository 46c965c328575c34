"""Walks one copied stack: registers and bytes in, return addresses out.

A walk never guesses silently. It follows unwind entries. Where code has none, it takes one step by the code's bytes
(code_bytes.py); else it follows the frame pointer and marks the frame so found, but only if the address lies in an
executable mapping and, in a file, follows a CALL. Any other state ends the walk with a reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from fleetpb import capture_pb2
from gateway.process.code_bytes import IF_OUTERMOST, MAX_REMEMBERED, CodeBytes
from gateway.runtimes.hotspot.stepping import Place
from gateway.unwind.general_rules import LOST, CannotStep, Frame
from gateway.unwind.rules import (
    FROM_RBP,
    FROM_RSP,
    GENERAL,
    MANAGED,
    NO_ENTRY,
    OUTERMOST,
    SIGNAL,
    UNMAPPED,
    UNMAPPED_RULE,
    Rule,
)

if TYPE_CHECKING:
    from gateway.process.address_space import AddressSpace
    from gateway.process.images import Images
    from gateway.process.maps import Vma

# Indexes in the 20 registers that perf delivers on x86-64 (asm/perf_regs.h, without segments).
RBX: Final = 1
RBP: Final = 6
RSP: Final = 7
RIP: Final = 8

# The kernel's rt_sigframe from rsp on, once the handler has returned: ucontext, whose general registers
# begin at word 5 in the order r8…r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip (asm/sigcontext.h).
_SIGNAL_FRAME_WORDS: Final = 22
_SIGNAL_REGISTERS: Final = (18, 16, 19, 17, 14, 13, 15, 20, 21, 0, 0, 0, 5, 6, 7, 8, 9, 10, 11, 12)

# A frame pointer further above rsp than the usual stack limit is not one.
_STACK_LIMIT_WORDS: Final = (8 << 20) >> 3
_COMPLETE: Final = int(capture_pb2.STACK_END_COMPLETE)
_TRUNCATED: Final = int(capture_pb2.STACK_END_TRUNCATED)
_NO_UNWIND: Final = int(capture_pb2.STACK_END_NO_UNWIND)
_NO_MAPPING: Final = int(capture_pb2.STACK_END_NO_MAPPING)
_BAD_STACK: Final = int(capture_pb2.STACK_END_BAD_STACK)
_TOO_DEEP: Final = int(capture_pb2.STACK_END_TOO_DEEP)

_LEAF_ONLY: Final[tuple[int, ...]] = (0,)
_NONE: Final[tuple[int, ...]] = ()


class Walk(NamedTuple):
    """A walked stack. A named tuple, because creating it is a tenth of the cost of a short walk.

    `addresses` are the process's, leaf first. Those at the positions in `exact` are of the instruction itself (the
    leaf, and code that a signal interrupted); all others are return addresses. Those at the positions in
    `by_frame_pointer` were found by frame pointer. `end` is a `capture_pb2.StackEnd`. `interpreted` are the positions of
    interpreted Java methods, each with its Method* and bytecode pointer.
    """

    addresses: list[int]
    end: int
    exact: tuple[int, ...]
    by_frame_pointer: tuple[int, ...]
    interpreted: tuple[tuple[int, int, int], ...] = ()


class Walker:
    """Walks stacks by the unwind tables of `images`. Not thread-safe."""

    def __init__(self, images: Images, *, max_depth: int = 256) -> None:
        self._images = images
        self._code = CodeBytes(images)
        self._max_depth = max_depth
        self.stacks_walked = 0

    def walk(
        self,
        pid: int,
        space: AddressSpace,
        regs: tuple[int, ...],
        stack: memoryview[int],
        size: int,
        *,
        tops: list[int] | None = None,
    ) -> Walk:
        """Walk the stack of a 64-bit process.

        `regs` are the 20 registers of PERF_SAMPLE_REGS_USER in the kernel's order, `stack` the copied
        memory from rsp on, cast to 'Q', of which `size` bytes are valid. `tops` gets for each frame the words from
        rsp to where it begins.

        This is one loop, with all rules in it and every value in a local variable: a frame costs 0.35 µs
        here, and a call that takes and returns this state 0.1 µs alone. Positions on the stack are indexes
        of words from the leaf's rsp, so that a step is an addition and its bounds are two comparisons.
        """
        self.stacks_walked += 1
        origin = regs[RSP]
        rbp = regs[RBP]
        rbx = regs[RBX]
        rbx_at = -1  # where rbx is saved; read on use, which is rare; < 0: `rbx` is its value
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
        interpreted: tuple[tuple[int, int, int], ...] = ()
        end = _TOO_DEEP
        for _ in range(self._max_depth):
            rule = known(ip - back)
            if rule is None:
                rule = self._find_rule(pid, space, ip, back)
            kind, cfa, saved_rbp, saved_rbx, unusual = rule
            if kind == FROM_RSP:
                caller = top + cfa
            elif kind == FROM_RBP:
                distance = rbp - origin
                if distance & 7:
                    append(ip)
                    if tops is not None:
                        tops.append(top)
                    end = _BAD_STACK
                    break
                caller = (distance >> 3) + cfa
            elif kind == NO_ENTRY:
                append(ip)
                if tops is not None:
                    tops.append(top)
                if not back and cfa >= 0 and top < limit:
                    known_words = self._code.words_to_caller(
                        pid, space, ip, rbp, stack[top : min(top + 2, limit)]
                    )
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
                    end = self._leaf_frame(pid, space, ip - back) if rbp else _NO_UNWIND
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
                    verdict = self._code.check_return_address(pid, space, ip)
                if verdict and (rbp or verdict != IF_OUTERMOST):
                    end = _NO_UNWIND if verdict == IF_OUTERMOST else verdict
                    break
                guessed += (len(addresses),)
                top = frame + 2
                back = 1
                continue
            elif kind == GENERAL:
                append(ip)
                if tops is not None:
                    tops.append(top)
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
            elif kind == MANAGED:
                assert space.hotspot is not None
                if tops is not None:
                    tops.append(top)
                place = Place(ip, top, rbp, None if back else registers, stack, origin, limit)
                address, caller_ip, top, rbp, verdict, method, bcp = space.hotspot.step(cfa, place)
                if method:
                    interpreted += ((len(addresses), method, bcp),)
                append(address)
                if verdict >= 0:
                    end = verdict
                    break
                ip = caller_ip
                rbx, rbx_at = LOST, -1
                back = 1
                if not ip:
                    end = _COMPLETE
                    break
                continue
            elif kind == SIGNAL:
                append(ip)
                if tops is not None:
                    tops.append(top)
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
                    # The handler ran on its own stack (sigaltstack); the other was not copied.
                    append(ip)
                    if tops is not None:
                        tops.append(top)
                    end = _TRUNCATED
                    break
                top = distance >> 3
                continue
            elif kind == UNMAPPED:
                end = _NO_MAPPING
                if not back:
                    append(ip)  # the interrupted address, wherever it is; a return address there is bogus
                    if tops is not None:
                        tops.append(top)
                break
            else:
                append(ip)
                if tops is not None:
                    tops.append(top)
                end = _COMPLETE if kind == OUTERMOST else _NO_UNWIND
                break
            append(ip)
            if tops is not None:
                tops.append(top)
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
            # The next frame is valid, but exceeds the depth limit.
            exact = tuple([place for place in exact if place < self._max_depth])
            guessed = tuple([place for place in guessed if place < self._max_depth])
            interpreted = tuple([each for each in interpreted if each[0] < self._max_depth])
        return Walk(addresses, end, exact, guessed, interpreted)

    def function_start(self, pid: int, vma: Vma, lookup_offset: int) -> int | None:
        """Return the file offset where the unwind entry that covers an offset begins; None: there is none.

        `lookup_offset` is a file offset inside the instruction: one byte before a return address.
        """
        return self._images.open(pid, vma).rules.function_start(lookup_offset)

    def _find_rule(self, pid: int, space: AddressSpace, ip: int, back: int) -> Rule:
        address = ip - back
        if len(space.rules) >= MAX_REMEMBERED:
            space.rules.clear()
        vma = space.find(address)
        managed = None
        if space.hotspot is not None and vma is not None and not vma.has_file:
            managed = space.hotspot.rule(ip, back)
        if vma is None:
            rule = UNMAPPED_RULE
        elif managed is not None:
            rule = managed
        else:
            image = self._images.open(pid, vma)
            offset = address - vma.start + vma.offset
            rule = image.rules.rule(offset)
            if rule[0] == NO_ENTRY:
                rule = self._code.known_rule(pid, space, vma, address) or rule
        space.rules[address] = rule
        return rule

    def _leaf_frame(self, pid: int, space: AddressSpace, address: int) -> int:
        """The end of a walk whose frame pointer leads off the copied stack.

        Go keeps frame pointers in all its code, and runs its collector on the thread's stack for a goroutine on
        another (runtime.systemstack), which was not copied.
        """
        vma = space.find(address)
        is_go = vma is not None and vma.has_file and self._images.open(pid, vma).is_go
        return _TRUNCATED if is_go else _NO_UNWIND
