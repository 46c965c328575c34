"""Decodes machine code with capstone, for x86-64 (Intel syntax) and little-endian aarch64.

capstone has 9 MB of tables, so only the first use imports it. Bytes that are no instruction become `.byte`: decoding
goes on behind them, and every byte is part of exactly one instruction.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import EM_AARCH64, EM_X86_64, MACHINES

LONGEST: Final = 15
"""Bytes of the longest instruction (Intel SDM volume 2, 2.3.11)."""
DATA: Final = ".byte"
"""Mnemonic of bytes that are no instruction."""

_ADDRESS: Final = re.compile(r"(?:^|[ ,])#?(0x[0-9a-f]{1,16}|[0-9])$")
"""The last operand, if it is a number; capstone writes those below 10 in decimal."""
_ARM_BRANCHES: Final = frozenset({"b", "bl", "cbz", "cbnz", "tbz", "tbnz"})
_X86_BRANCHES: Final = frozenset({"call", "loop", "loope", "loopne", "xbegin"})


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, or bytes that are none (`DATA`)."""

    address: int
    """Virtual address in the ELF file."""
    code: bytes
    mnemonic: str
    operands: str
    target: int | None
    """Address that a direct jump or call goes to; None for all other instructions."""


def is_decodable(elf: ElfFile) -> bool:
    """Whether the file is of an architecture that `decode` supports."""
    return elf.bits == 64 and elf.order == "<" and elf.machine in {EM_X86_64, EM_AARCH64}


def architecture_of(elf: ElfFile) -> str:
    """Name of the file's architecture, e.g. x86-64; `machine N` for one without Linux profiles."""
    return MACHINES.get(elf.machine, f"machine {elf.machine}")


def decode(machine: int, code: bytes, address: int) -> Iterator[Instruction]:
    """The instructions of `code`, which begins at `address`; `machine` is e_machine of a decodable file."""
    is_arm = machine == EM_AARCH64
    at = 0
    for start, size, mnemonic, operands in _decoder(machine).disasm_lite(code, address):
        at = start - address
        yield Instruction(
            start, code[at : at + size], mnemonic, operands, _target(mnemonic, operands, is_arm=is_arm)
        )
        at += size
    if at < len(code):  # the last bytes are a part of an instruction
        rest = code[at:]
        yield Instruction(address + at, rest, DATA, ", ".join(f"{byte:#04x}" for byte in rest), None)


def _decoder(machine: int) -> Any:
    import capstone  # noqa: PLC0415 - see above

    chosen = (
        (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
        if machine == EM_AARCH64
        else (capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    )
    decoder = capstone.Cs(*chosen)
    decoder.skipdata = True
    return decoder


def _target(mnemonic: str, operands: str, *, is_arm: bool) -> int | None:
    name = mnemonic.rpartition(" ")[2]  # without prefixes: "bnd jmp"
    if is_arm:
        is_branch = name in _ARM_BRANCHES or name.startswith("b.")
    else:
        is_branch = name.startswith("j") or name in _X86_BRANCHES
    found = _ADDRESS.search(operands) if is_branch else None
    return int(found[1], 0) if found else None
