"""One entry of .eh_frame, read and evaluated into rows (DWARF 5 section 6.4, LSB 5 section 10.6).

Bytes in, values out. A row keeps only what the walk needs: the CFA and the locations of rbp, rbx and the return
address. An entry is evaluated whole, because its other rows are likely to be needed too.

Every failure is BadImage. The run time is bounded: each step consumes at least one byte of an entry, and an entry has
at most `MAX_ENTRY_BYTES` (the largest seen in node, libjvm and libLLVM has 3.1 KiB).
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct, error
from typing import Final, NamedTuple

from gateway.errors import BadImage
from gateway.unwind.leb128 import read_pointer, read_sleb, read_uleb, skip_pointer
from gateway.unwind.rules import (
    AT_CFA,
    AT_EXPRESSION,
    BY_EXPRESSION,
    CFA_PLUS,
    EXPRESSION,
    NOT_DEFINED,
    REGISTER,
    UNCHANGED,
    UNDEFINED,
    RegisterRule,
    Row,
)

MAX_ENTRY_BYTES: Final = 64 << 10
MAX_EXPRESSION_BYTES: Final = 256

# DWARF numbers of x86-64 registers (psABI, figure 3.36).
_RBX: Final = 3
_RBP: Final = 6
_RETURN_ADDRESS: Final = 16

_U16: Final = Struct("<H")
_U32: Final = Struct("<I")
_EXTENDED_LENGTH: Final = 0xFFFFFFFF

_START: Final[Row] = (NOT_DEFINED, 0, b"", UNCHANGED, UNCHANGED, UNCHANGED)


class Entry(NamedTuple):
    """An evaluated FDE. Row i holds from `starts[i]` to the next start; addresses are virtual."""

    start: int
    end: int
    starts: list[int]
    rows: list[Row]
    signal_frame: bool


@dataclass(frozen=True, slots=True)
class Cie:
    """The common part of all entries of a CIE. `row` is their first row."""

    code_alignment: int
    data_alignment: int
    pointer_encoding: int
    signal_frame: bool
    augmented: bool
    row: Row


def entry_length(head: bytes) -> int:
    """Return the bytes an entry occupies, its length field included; `head` is its first 4 bytes or more.

    Raises BadImage for a terminator, for the 64-bit form (no x86-64 tool emits it) and above the limit.
    """
    if len(head) < _U32.size:
        raise BadImage("an .eh_frame entry is cut off")
    (length,) = _U32.unpack_from(head)
    if length in {0, _EXTENDED_LENGTH} or length + 4 > MAX_ENTRY_BYTES:
        raise BadImage(f"an .eh_frame entry of {length} bytes is not plausible")
    return int(length) + 4


def cie_distance(entry: bytes) -> int:
    """Return the distance in bytes from an FDE back to its CIE. Raises BadImage if the entry is not an FDE."""
    distance = _cie_pointer(entry)
    if not distance:
        raise BadImage("found a CIE instead of an FDE")
    return distance - 4


def read_cie(entry: bytes, address: int) -> Cie:
    """Read a CIE that lies at virtual address `address`. Raises BadImage."""
    if _cie_pointer(entry):
        raise BadImage("found an FDE instead of a CIE")
    try:
        return _read_cie(entry, address)
    except (IndexError, error) as reason:
        raise BadImage(f"the CIE at {address:#x} is cut off") from reason


def evaluate(entry: bytes, address: int, cie: Cie) -> Entry:
    """Evaluate an FDE that lies at virtual address `address`. Raises BadImage."""
    try:
        position = 8
        start, position = read_pointer(entry, position, cie.pointer_encoding, pc=address + position)
        # The length of the range has the pointer's format, but is never relative to anything.
        length, position = read_pointer(entry, position, cie.pointer_encoding & 0x0F, pc=0)
        if length <= 0:
            raise BadImage(f"the FDE at {address:#x} covers nothing")
        if cie.augmented:
            size, position = read_uleb(entry, position)
            position += size
        entered = Entry(start, start + length, [], [], cie.signal_frame)
        _run(entry, position, cie, entered, address=address)
    except (IndexError, error) as reason:
        raise BadImage(f"the FDE at {address:#x} is cut off") from reason
    return entered


def _cie_pointer(entry: bytes) -> int:
    """Return the field that is 0 in a CIE and not 0 in an FDE."""
    if len(entry) < 8:
        raise BadImage("an .eh_frame entry is cut off")
    return int(_U32.unpack_from(entry, 4)[0])


def _read_cie(entry: bytes, address: int) -> Cie:
    version = entry[8]
    if version not in {1, 3}:
        raise BadImage(f"CIE version {version} is not supported")
    end_of_text = entry.find(b"\0", 9)
    if end_of_text < 0:
        raise BadImage(f"the CIE at {address:#x} is cut off")
    augmentation = entry[9:end_of_text]
    position = end_of_text + 1
    code_alignment, position = read_uleb(entry, position)
    data_alignment, position = read_sleb(entry, position)
    if version == 1:
        return_register, position = entry[position], position + 1
    else:
        return_register, position = read_uleb(entry, position)
    if return_register != _RETURN_ADDRESS:
        raise BadImage(f"register {return_register} as the return address is not supported")
    pointer_encoding = 0
    signal_frame = False
    augmented = augmentation[:1] == b"z"
    if augmented:
        size, position = read_uleb(entry, position)
        program = position + size
        for letter in augmentation[1:]:
            if letter == ord("R"):
                pointer_encoding = entry[position]
                position += 1
            elif letter == ord("L"):
                position += 1
            elif letter == ord("P"):
                position = skip_pointer(entry, position + 1, entry[position])
            elif letter == ord("S"):
                signal_frame = True
            elif letter != ord("B"):  # B: pointer authentication, without operand
                raise BadImage(f"CIE augmentation {augmentation!r} is not supported")
    elif augmentation:
        raise BadImage(f"CIE augmentation {augmentation!r} is not supported")
    else:
        program = position
    bare = Cie(code_alignment, data_alignment, pointer_encoding, signal_frame, augmented, _START)
    _run(entry, program, bare, first := Entry(0, 0, [], [], signal_frame), address=address)
    return Cie(code_alignment, data_alignment, pointer_encoding, signal_frame, augmented, first.rows[-1])


def _run(program: bytes, position: int, cie: Cie, entry: Entry, *, address: int) -> None:
    """Run the instructions from `position` to the end and add every finished row to `entry`.

    `address` is the virtual address of the program's first byte. One loop with the row in local variables: a capture
    spends its first moments here.
    """
    location = entry.start
    starts, rows = entry.starts, entry.rows
    code_alignment = cie.code_alignment
    data_alignment = cie.data_alignment
    register, offset, expression, rbp, rbx, return_address = cie.row
    *_, initial_rbp, initial_rbx, initial_return_address = cie.row
    remembered: list[Row] = []
    end = len(program)
    while position < end:
        byte = program[position]
        position += 1
        high = byte & 0xC0
        advance = 0
        if high == 0x40:  # advance_loc
            advance = (byte & 0x3F) * code_alignment
        elif byte == 0x0E:  # def_cfa_offset
            offset, position = read_uleb(program, position)
        elif high == 0x80:  # offset
            where, position = read_uleb(program, position)
            if byte & 0x3F == _RBP:
                rbp = (AT_CFA, where * data_alignment)
            elif byte & 0x3F == _RBX:
                rbx = (AT_CFA, where * data_alignment)
            elif byte & 0x3F == _RETURN_ADDRESS:
                return_address = (AT_CFA, where * data_alignment)
        elif high == 0xC0:  # restore
            if byte & 0x3F == _RBP:
                rbp = initial_rbp
            elif byte & 0x3F == _RBX:
                rbx = initial_rbx
            elif byte & 0x3F == _RETURN_ADDRESS:
                return_address = initial_return_address
        elif byte == 0x00:  # nop
            pass
        elif byte == 0x02:  # advance_loc1
            advance = program[position] * code_alignment
            position += 1
        elif byte == 0x03:  # advance_loc2
            advance = _U16.unpack_from(program, position)[0] * code_alignment
            position += 2
        elif byte == 0x04:  # advance_loc4
            advance = _U32.unpack_from(program, position)[0] * code_alignment
            position += 4
        elif byte == 0x0A:  # remember_state
            remembered.append((register, offset, expression, rbp, rbx, return_address))
        elif byte == 0x0B:  # restore_state; compilers rely on it to restore the CFA as well
            if not remembered:
                raise BadImage("restore_state without remember_state")
            register, offset, expression, rbp, rbx, return_address = remembered.pop()
        elif byte == 0x0C:  # def_cfa
            register, position = read_uleb(program, position)
            offset, position = read_uleb(program, position)
        elif byte == 0x0D:  # def_cfa_register
            register, position = read_uleb(program, position)
        elif byte == 0x0F:  # def_cfa_expression
            expression, position = _block(program, position)
            register = BY_EXPRESSION
        elif byte == 0x12:  # def_cfa_sf
            register, position = read_uleb(program, position)
            factored, position = read_sleb(program, position)
            offset = factored * data_alignment
        elif byte == 0x13:  # def_cfa_offset_sf
            factored, position = read_sleb(program, position)
            offset = factored * data_alignment
        elif byte == 0x01:  # set_loc
            target, position = read_pointer(program, position, cie.pointer_encoding, pc=address + position)
            advance = target - location
            if advance < 0:
                raise BadImage("set_loc moves backwards")
        elif byte == 0x2E:  # GNU_args_size
            _, position = read_uleb(program, position)
        else:
            number, position = read_uleb(program, position)
            rule, position = _register_rule(byte, program, position, data_alignment)
            if number == _RBP:
                rbp = initial_rbp if rule is None else rule
            elif number == _RBX:
                rbx = initial_rbx if rule is None else rule
            elif number == _RETURN_ADDRESS:
                return_address = initial_return_address if rule is None else rule
        if advance:
            starts.append(location)
            rows.append((register, offset, expression, rbp, rbx, return_address))
            location += advance
    starts.append(location)
    rows.append((register, offset, expression, rbp, rbx, return_address))


def _register_rule(
    operation: int, program: bytes, position: int, data_alignment: int
) -> tuple[RegisterRule | None, int]:
    """Read the operands of a less common instruction about one register; None: as in the CIE."""
    if operation == 0x05:  # offset_extended
        factored, position = read_uleb(program, position)
        return (AT_CFA, factored * data_alignment), position
    if operation == 0x06:  # restore_extended
        return None, position
    if operation == 0x07:  # undefined
        return (UNDEFINED, 0), position
    if operation == 0x08:  # same_value
        return UNCHANGED, position
    if operation == 0x09:  # register
        other, position = read_uleb(program, position)
        return (REGISTER, other), position
    if operation == 0x10:  # expression
        block, position = _block(program, position)
        return (AT_EXPRESSION, block), position
    if operation == 0x11:  # offset_extended_sf
        factored, position = read_sleb(program, position)
        return (AT_CFA, factored * data_alignment), position
    if operation == 0x14:  # val_offset
        factored, position = read_uleb(program, position)
        return (CFA_PLUS, factored * data_alignment), position
    if operation == 0x15:  # val_offset_sf
        factored, position = read_sleb(program, position)
        return (CFA_PLUS, factored * data_alignment), position
    if operation == 0x16:  # val_expression
        block, position = _block(program, position)
        return (EXPRESSION, block), position
    if operation == 0x2F:  # GNU_negative_offset_extended
        factored, position = read_uleb(program, position)
        return (AT_CFA, -factored * data_alignment), position
    raise BadImage(f"call frame instruction {operation:#04x} is not supported")


def _block(program: bytes, position: int) -> tuple[bytes, int]:
    size, position = read_uleb(program, position)
    if size > MAX_EXPRESSION_BYTES or position + size > len(program):
        raise BadImage(f"an expression of {size} bytes is not plausible")
    return program[position : position + size], position + size
