"""One unwind step by a row of the general form; about one frame in a thousand needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fleetpb import capture_pb2
from gateway.unwind.expression import CannotEvaluate, evaluate
from gateway.unwind.rules import AT_CFA, AT_EXPRESSION, CFA_PLUS, REGISTER, GeneralRule, RegisterRule

if TYPE_CHECKING:
    pass

# Value of a lost rbp or rbx. It is not aligned, so a walk that uses it as an address ends.
LOST: Final = -1

# DWARF register number → index in the order of PERF_SAMPLE_REGS_USER, without rsp, rbp and rip.
_PLACES: Final = {
    0: 0,
    1: 3,
    2: 2,
    3: 1,
    4: 4,
    5: 5,
    8: 12,
    9: 13,
    10: 14,
    11: 15,
    12: 16,
    13: 17,
    14: 18,
    15: 19,
}
_RBX: Final = 3
_RBP: Final = 6
_RSP: Final = 7
_RIP: Final = 16


class CannotStep(Exception):
    """The caller cannot be found; `end` is the reason, a `capture_pb2.StackEnd`."""

    def __init__(self, end: int) -> None:
        super().__init__(end)
        self.end = end


@dataclass(frozen=True, slots=True)
class Frame:
    """The known state of one frame.

    `registers` are all 20 of perf's, or None in a caller, where only rip, rsp, rbp and rbx are known. `stack` is the
    copied memory as words from address `origin` on, of which `limit` are valid.
    """

    ip: int
    rsp: int
    rbp: int
    rbx: int
    registers: tuple[int, ...] | None
    stack: memoryview[int]
    origin: int
    limit: int

    def caller(self, row: GeneralRule) -> tuple[int, int, int, int]:
        """Return the caller's (rip, index of the word at its rsp, rbp, rbx). Raises CannotStep."""
        try:
            if row.expression:
                cfa = evaluate(row.expression, self._register, self._word)
            else:
                cfa = self._register(row.register) + row.offset
            distance = cfa - self.origin
            # Only a leaf can have its return address in a register, and thus nothing on the stack.
            if distance & 7 or cfa < self.rsp or (cfa == self.rsp and self.registers is None):
                raise CannotStep(capture_pb2.STACK_END_BAD_STACK)
            if distance >> 3 > self.limit:
                raise CannotStep(capture_pb2.STACK_END_TRUNCATED)
            ip = self._recover(row.return_address, self.ip, cfa)
        except CannotEvaluate:
            raise CannotStep(capture_pb2.STACK_END_NO_UNWIND) from None
        return ip, distance >> 3, self._caller(row.rbp, self.rbp, cfa), self._caller(row.rbx, self.rbx, cfa)

    def _caller(self, rule: RegisterRule, current: int, cfa: int) -> int:
        """A saved register's value in the caller; LOST if unknown."""
        how, operand = rule
        if how == AT_CFA and isinstance(operand, int) and cfa + operand < self.rsp:
            return current  # already popped, see walker
        try:
            return self._recover(rule, current, cfa)
        except CannotEvaluate:
            return LOST

    def _recover(self, rule: RegisterRule, current: int, cfa: int) -> int:
        how, operand = rule
        if isinstance(operand, bytes):
            value = evaluate(operand, self._register, self._word, cfa)
            return self._word(value) if how == AT_EXPRESSION else value
        if how == AT_CFA:
            return self._word(cfa + operand)
        if how == CFA_PLUS:
            return cfa + operand
        if how == REGISTER:
            return self._register(operand)
        return current

    def _register(self, number: int) -> int:
        if number == _RSP:
            return self.rsp
        if number == _RBP:
            return self.rbp
        if number == _RIP:
            return self.ip
        if number == _RBX and self.rbx != LOST:
            return self.rbx
        if self.registers is None or number not in _PLACES:
            raise CannotEvaluate(f"register {number} is not supported")
        return self.registers[_PLACES[number]]

    def _word(self, address: int) -> int:
        distance = address - self.origin
        if distance & 7:
            raise CannotStep(capture_pb2.STACK_END_BAD_STACK)
        if not 0 <= distance >> 3 < self.limit:
            raise CannotStep(capture_pb2.STACK_END_TRUNCATED)
        return self.stack[distance >> 3]
