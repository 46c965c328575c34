"""DWARF expressions in call frame information (DWARF 5 section 2.5).

Seen in practice: the PLT (the CFA depends on the position in the 16-byte stub), realigned stacks
(`breg6 -8; deref`), and OpenSSL's perlasm (`breg7 n; deref; plus_uconst 8`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.errors import BadImage, GatewayError
from gateway.unwind.leb128 import read_sleb, read_uleb

if TYPE_CHECKING:
    from collections.abc import Callable

_MASK: Final = (1 << 64) - 1
_MAX_STEPS: Final = 512
_MAX_DEPTH: Final = 64
# Operand bytes and signedness of const1u … const8s.
_CONSTANTS: Final = {
    0x08: (1, False),
    0x09: (1, True),
    0x0A: (2, False),
    0x0B: (2, True),
    0x0C: (4, False),
    0x0D: (4, True),
    0x0E: (8, False),
    0x0F: (8, True),
}


class CannotEvaluate(GatewayError):
    """The expression needs a lost register or memory that was not copied, or it is damaged."""


def evaluate(
    expression: bytes,
    register: Callable[[int], int],
    word: Callable[[int], int],
    initial: int | None = None,
) -> int:
    """Return the 64-bit value that an expression leaves on top of its stack.

    `register(n)` returns the value of DWARF register n, `word(address)` eight bytes of the target's memory; both
    raise CannotEvaluate for unknown values. `initial` is pushed first (the CFA, for register rules). Raises
    CannotEvaluate also for operations that call frame information may not use, and after a fixed number of steps,
    so that a loop in hostile input ends.
    """
    stack = [] if initial is None else [initial & _MASK]
    try:
        _run(expression, stack, register, word)
        return stack[-1]
    except (IndexError, ZeroDivisionError, BadImage) as reason:
        raise CannotEvaluate("a call frame expression is damaged") from reason


def _run(
    expression: bytes, stack: list[int], register: Callable[[int], int], word: Callable[[int], int]
) -> None:
    position = 0
    end = len(expression)
    for _ in range(_MAX_STEPS):
        if position == end:
            return
        if len(stack) > _MAX_DEPTH or not 0 <= position < end:
            break
        operation = expression[position]
        position += 1
        if 0x70 <= operation <= 0x8F:  # breg0 … breg31
            offset, position = read_sleb(expression, position)
            stack.append((register(operation - 0x70) + offset) & _MASK)
        elif 0x30 <= operation <= 0x4F:  # lit0 … lit31
            stack.append(operation - 0x30)
        elif operation == 0x06:  # deref
            stack.append(word(stack.pop()))
        elif operation == 0x23:  # plus_uconst
            constant, position = read_uleb(expression, position)
            stack.append((stack.pop() + constant) & _MASK)
        elif operation in _CONSTANTS:
            size, signed = _CONSTANTS[operation]
            if position + size > end:
                break
            constant = int.from_bytes(expression[position : position + size], "little", signed=signed)
            stack.append(constant & _MASK)
            position += size
        elif operation == 0x10:  # constu
            constant, position = read_uleb(expression, position)
            stack.append(constant & _MASK)
        elif operation == 0x11:  # consts
            constant, position = read_sleb(expression, position)
            stack.append(constant & _MASK)
        elif operation == 0x28:  # bra
            distance = int.from_bytes(expression[position : position + 2], "little", signed=True)
            position += 2 + (distance if stack.pop() else 0)
        elif operation == 0x2F:  # skip
            distance = int.from_bytes(expression[position : position + 2], "little", signed=True)
            position += 2 + distance
        elif operation == 0x92:  # bregx
            number, position = read_uleb(expression, position)
            offset, position = read_sleb(expression, position)
            stack.append((register(number) + offset) & _MASK)
        elif operation == 0x15:  # pick
            stack.append(stack[-1 - expression[position]])
            position += 1
        elif operation != 0x96:  # nop
            _rearrange_or_compute(operation, stack)
    raise CannotEvaluate("a call frame expression is cut off")


def _rearrange_or_compute(operation: int, stack: list[int]) -> None:
    """Operations without operands in the expression, on the stack alone."""
    if operation == 0x12:  # dup
        stack.append(stack[-1])
    elif operation == 0x13:  # drop
        stack.pop()
    elif operation == 0x14:  # over
        stack.append(stack[-2])
    elif operation == 0x16:  # swap
        stack[-1], stack[-2] = stack[-2], stack[-1]
    elif operation == 0x17:  # rot
        stack[-1], stack[-2], stack[-3] = stack[-2], stack[-3], stack[-1]
    elif operation == 0x19:  # abs
        stack.append(abs(_signed(stack.pop())))
    elif operation == 0x1F:  # neg
        stack.append(-stack.pop() & _MASK)
    elif operation == 0x20:  # not
        stack.append(~stack.pop() & _MASK)
    else:
        second = stack.pop()
        stack.append(_binary(operation, stack.pop(), second) & _MASK)


def _binary(operation: int, left: int, right: int) -> int:
    if operation == 0x1A:  # and
        return left & right
    if operation == 0x1B:  # div, signed, towards zero
        quotient = abs(_signed(left)) // abs(_signed(right))
        return quotient if (_signed(left) < 0) == (_signed(right) < 0) else -quotient
    if operation == 0x1C:  # minus
        return left - right
    if operation == 0x1D:  # mod, unsigned
        return left % right
    if operation == 0x1E:  # mul
        return left * right
    if operation == 0x21:  # or
        return left | right
    if operation == 0x22:  # plus
        return left + right
    if operation == 0x24:  # shl
        return left << right if right < 64 else 0
    if operation == 0x25:  # shr
        return left >> right if right < 64 else 0
    if operation == 0x26:  # shra
        return _signed(left) >> min(right, 63)
    if operation == 0x27:  # xor
        return left ^ right
    return _compare(operation, _signed(left), _signed(right))


def _compare(operation: int, left: int, right: int) -> int:
    if operation == 0x29:  # eq
        return int(left == right)
    if operation == 0x2A:  # ge
        return int(left >= right)
    if operation == 0x2B:  # gt
        return int(left > right)
    if operation == 0x2C:  # le
        return int(left <= right)
    if operation == 0x2D:  # lt
        return int(left < right)
    if operation == 0x2E:  # ne
        return int(left != right)
    raise CannotEvaluate(f"operation {operation:#04x} is not allowed in call frame information")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
