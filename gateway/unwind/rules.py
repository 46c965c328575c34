"""How a frame's caller is found: the compiled form of one row of call frame information.

A rule is a plain tuple `(kind, cfa, saved, unusual)`, because the walk reads one for every frame and
a tuple is the cheapest thing Python can take apart. Distances are in 8-byte words:

    FROM_RSP   CFA = rsp + cfa; the return address is the word below the CFA
    FROM_RBP   CFA = rbp + cfa; likewise
    NO_ENTRY   no entry covers the code: JIT code, hand-written assembly, images without .eh_frame
    UNUSABLE   there is, or may be, an entry, but it cannot be read: the walk must end here
    UNMAPPED   the address lies in no executable mapping
    OUTERMOST  the return address is undefined: the thread started here
    SIGNAL     the kernel's signal frame: all registers are saved above rsp
    UNUSUAL    anything else; `unusual` says how

`saved` is where the caller's rbp lies, in words from the CFA (negative); 0: rbp is the caller's.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TypeAlias

FROM_RSP = 0
FROM_RBP = 1
NO_ENTRY = 2
UNUSABLE = 3
UNMAPPED = 4
OUTERMOST = 5
SIGNAL = 6
UNUSUAL = 7


class Recovery(IntEnum):
    """How a register's value in the caller is found (DWARF 5, section 6.4.1)."""

    SAME = 0  # it was not touched
    AT_CFA = 1  # stored at CFA + offset
    UNDEFINED = 2  # lost; for the return address: there is no caller
    AT_EXPRESSION = 3  # stored at the address that the expression gives
    CFA_PLUS = 4  # it is CFA + offset
    EXPRESSION = 5  # it is what the expression gives
    REGISTER = 6  # it is in another register


# A register's recovery with its operand: an offset, a register's number, or an expression's bytes.
RegisterRule: TypeAlias = tuple[Recovery, "int | bytes"]


@dataclass(frozen=True, slots=True)
class Unusual:
    """A row that is neither rsp- nor rbp-based in the ordinary way.

    Either `expression` computes the CFA, or it is `register` (DWARF number) + `offset` bytes.
    """

    expression: bytes
    register: int
    offset: int
    rbp: RegisterRule
    return_address: RegisterRule


Rule: TypeAlias = tuple[int, int, int, "Unusual | None"]

NO_ENTRY_RULE: Rule = (NO_ENTRY, 0, 0, None)
UNUSABLE_RULE: Rule = (UNUSABLE, 0, 0, None)
UNMAPPED_RULE: Rule = (UNMAPPED, 0, 0, None)
OUTERMOST_RULE: Rule = (OUTERMOST, 0, 0, None)
SIGNAL_RULE: Rule = (SIGNAL, 0, 0, None)
