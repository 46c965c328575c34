"""Length of an x86-64 instruction that leaves rsp unchanged and continues with the next one.

Strategy: one table per opcode map gives the bytes that follow an opcode. Opcodes outside the tables (those that move
rsp, jump, trap or are privileged, and the few that no compiler emits) have no length, which is always safe: the
caller then knows nothing. The same holds for an instruction that might write rsp, such as one that names register 4
in most positions.
"""

from __future__ import annotations

from typing import Final

LONGEST_INSTRUCTION: Final = 15

# What follows an opcode: ModRM or none, and the bytes of the immediate; _Z: 4, or 2 after the prefix 66;
# _V: 8 with REX.W, else as _Z. _TO_REGISTER: the instruction writes the general register ModRM.reg.
_NONE: Final = 0
_IMM8: Final = 1
_Z: Final = 2
_V: Final = 3
_IMMEDIATE: Final = 3
_MODRM: Final = 4
_TO_REGISTER: Final = 8
_WRITES: Final = _MODRM | _TO_REGISTER

_LEGACY_PREFIXES: Final = frozenset(b"\x26\x2e\x36\x3e\x64\x65\x66\xf0\xf2\xf3")
_REX_W, _REX_R, _REX_X, _REX_B = 8, 4, 2, 1
_RSP: Final = 4
_SIB: Final = 4
_RIP: Final = 5
_ANY: Final = range(8)
_VECTOR_MAPS_38_3A: Final = (2, 3)
_ESCAPE, _MAP_38, _MAP_3A = 0x0F, 0x38, 0x3A
_VEX2, _VEX3, _EVEX = 0xC5, 0xC4, 0x62
# VEX instructions on general registers (BMI and others) begin here in their maps.
_GENERAL_FROM: Final = 0xF0


def _spread(*rows: tuple[str, int]) -> dict[int, int]:
    """Expand rows of (hex opcodes, single or first-last; what follows them)."""
    table: dict[int, int] = {}
    for opcodes, follows in rows:
        for part in opcodes.split():
            first, _, last = part.partition("-")
            table.update(dict.fromkeys(range(int(first, 16), int(last or first, 16) + 1), follows))
    return table


_ONE_BYTE: Final = _spread(
    ("00-01 08-09 10-11 18-19 20-21 28-29 30-31 38-3b 84-85 88-89", _MODRM),
    ("02-03 0a-0b 12-13 1a-1b 22-23 2a-2b 32-33 63 86-87 8a-8b 8d", _WRITES),
    ("04 0c 14 1c 24 2c 34 3c a8", _IMM8),
    ("05 0d 15 1d 25 2d 35 3d a9", _Z),
    ("69", _WRITES | _Z),
    ("6b", _WRITES | _IMM8),
    ("70-7f", _IMM8),  # conditional jumps: execution may continue with the next instruction
    ("80 83 c0-c1", _MODRM | _IMM8),
    ("81", _MODRM | _Z),
    ("d0-d3 d8-df", _MODRM),
    ("90-93 95-99 9b 9e-9f a4-a7 aa-af f5 f8-f9 fc-fd", _NONE),
    ("b0-b3 b5-b7", _IMM8),
    ("b8-bb bd-bf", _V),
    ("c6", _MODRM | _IMM8),
    ("c7", _MODRM | _Z),
    ("f6-f7 fe-ff", _MODRM),
)
_TWO_BYTES: Final = _spread(
    ("31 77 a2 c8-cb cd-cf", _NONE),
    ("0d 10-1f 28-2b 2e-2f 51-6f 74-76 7c-7f 90-9f a3 a5 ab ad ae b3 bb c3 c7 d0-d6 d8-fe", _MODRM),
    ("2c-2d 40-50 af b0-b1 b6-b8 bc-bf c0-c1 d7", _WRITES),
    ("70-73 a4 ac ba c2 c4 c6", _MODRM | _IMM8),
    ("c5", _WRITES | _IMM8),
    ("80-8f", _Z),  # conditional jumps
)
_VECTOR_MAP_1: Final = _spread(
    ("77", _NONE),
    ("10-17 28-2b 2e-2f 41-4b 51-6f 74-76 7a-7f 90-91 98-99 d0-d6 d8-fe", _MODRM),
    ("2c-2d 50 78-79 92-93 d7", _WRITES),
    ("70-73 c2 c4 c6", _MODRM | _IMM8),
    ("c5", _WRITES | _IMM8),
)
_CONDITIONAL_JUMPS: Final = range(0x80, 0x90)
# Groups of the first map: the permitted values of ModRM.reg. C7 /7 begins a transaction.
_GROUPS: Final = {0xC6: (0,), 0xC7: (0,), 0xFE: (0, 1), 0xFF: (0, 1)}
# The first two of this group are TEST, the only ones with an immediate.
_GROUP_3: Final = {0xF6: _IMM8, 0xF7: _Z}
_VECTOR_PAYLOAD: Final = {_VEX2: 1, _VEX3: 2, _EVEX: 3}


def plain_length(code: bytes, at: int) -> int:
    """Bytes of the instruction at `at`; 0: it moves rsp, reads its word, does not continue, or is unknown or cut off.

    Conditional jumps continue.
    """
    start = at
    operand_bytes = 4
    try:
        while code[at] in _LEGACY_PREFIXES:
            operand_bytes = 2 if code[at] == 0x66 else operand_bytes
            at += 1
        rex = 0
        if code[at] & 0xF0 == 0x40:
            rex = code[at]
            at += 1
        if rex & _REX_W:
            operand_bytes = 4
        opcode = code[at]
        if opcode in _VECTOR_PAYLOAD:
            end = _vector_end(code, at + 1, opcode)
        elif opcode != _ESCAPE:
            end = _end(code, at + 1, _ONE_BYTE.get(opcode), rex, operand_bytes=operand_bytes, opcode=opcode)
        else:
            end = _escaped_end(code, at + 1, rex, operand_bytes)
    except IndexError:
        return 0
    return end - start if start < end <= min(len(code), start + LONGEST_INSTRUCTION) else 0


def _escaped_end(code: bytes, at: int, rex: int, operand_bytes: int) -> int:
    """End of an instruction whose opcode is 0F and continues at `at`; 0: as for `plain_length`. Raises IndexError."""
    opcode = code[at]
    if opcode == _MAP_38:
        follows = _WRITES if code[at + 1] >= _GENERAL_FROM else _MODRM
        return _end(code, at + 2, follows, rex, operand_bytes=operand_bytes)
    if opcode == _MAP_3A:
        return _end(code, at + 2, _MODRM | _IMM8, rex, operand_bytes=operand_bytes)
    if opcode in _CONDITIONAL_JUMPS and operand_bytes != 4:
        return 0  # one vendor's processors read two bytes, the other's four
    return _end(code, at + 1, _TWO_BYTES.get(opcode), rex, operand_bytes=operand_bytes)


def _vector_end(code: bytes, at: int, prefix: int) -> int:
    """Like `_escaped_end`, after the first byte of a VEX or EVEX prefix."""
    payload = _VECTOR_PAYLOAD[prefix]
    # All bits that extend a register number are inverted; R, X and B have the order of REX.
    rex = (~code[at] >> 5) & (_REX_R if prefix == _VEX2 else _REX_R | _REX_X | _REX_B)
    number = 1 if prefix == _VEX2 else code[at] & (31 if prefix == _VEX3 else 15)
    second = (~code[at + payload - 1] >> 3) & 15  # VEX's additional register, which ModRM cannot hold
    opcode = code[at + payload]
    at += payload + 1
    if number == 1:
        return _end(code, at, _VECTOR_MAP_1.get(opcode), rex)
    if number not in _VECTOR_MAPS_38_3A:
        return 0
    general = opcode >= _GENERAL_FROM
    if general and second == _RSP:
        return 0
    return _end(code, at, (_WRITES if general else _MODRM) | (_IMM8 if number == 3 else 0), rex)


def _end(
    code: bytes, at: int, follows: int | None, rex: int, *, operand_bytes: int = 4, opcode: int = _ESCAPE
) -> int:
    """Like `_escaped_end`, after the opcode; `opcode` only for the first map, which has the groups."""
    if follows is None:
        return 0
    immediate = follows & _IMMEDIATE
    if follows & _MODRM:
        modrm = code[at]
        mode, register, place = modrm >> 6, modrm >> 3 & 7, modrm & 7
        if mode == 3 and place == _RSP and not rex & _REX_B:
            return 0
        if follows & _TO_REGISTER and register == _RSP and not rex & _REX_R:
            return 0
        if register not in _GROUPS.get(opcode, _ANY):
            return 0
        if register < 2:
            immediate = _GROUP_3.get(opcode, immediate)
        at = _operand_end(code, at + 1, mode, place, rex)
        if not at:
            return 0
    if immediate == _IMM8:
        return at + 1
    if immediate == _V and rex & _REX_W:
        return at + 8
    return at + operand_bytes if immediate else at


def _operand_end(code: bytes, at: int, mode: int, place: int, rex: int) -> int:
    """End of an operand after ModRM; 0: the operand is the word at rsp. Raises IndexError."""
    displacement = (0, 1, 4, 0)[mode]
    if mode == 3:
        return at
    if place == _SIB:
        sib = code[at]
        at += 1
        base = sib & 7
        if base == _RIP and mode == 0:
            displacement = 4
        on_top = base == _RSP and not rex & _REX_B and sib >> 3 & 7 == _RSP and not rex & _REX_X
        if on_top and not any(code[at : at + displacement]):
            return 0
    elif place == _RIP and mode == 0:
        displacement = 4
    return at + displacement
