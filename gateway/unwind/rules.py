"""The compiled form of one row of call frame information: how to find a frame's caller.

A rule is a plain tuple `(kind, cfa, rbp, rbx, general)`, because the walk reads one for every frame and Python
unpacks a tuple fastest. Distances are in 8-byte words:

    FROM_RSP   CFA = rsp + cfa; the return address is the word below the CFA
    FROM_RBP   CFA = rbp + cfa; likewise
    NO_ENTRY   no entry covers the code: JIT code, hand-written assembly, images without .eh_frame; cfa: as for
               FROM_RSP by the code's bytes, negative if they do not decide, 0 before they were examined
    UNUSABLE   an entry exists, or may exist, but is unreadable: the walk must end here
    UNMAPPED   the address lies in no executable mapping
    OUTERMOST  the return address is undefined: the thread started here
    SIGNAL     the kernel's signal frame: all registers are saved above rsp
    GENERAL    anything else, described by `general`
    MANAGED    a frame of a language runtime, which leaves it itself; cfa: how

`rbp` and `rbx` are the locations of the caller's values, in words from the CFA (negative); 0: still in the registers.
rbx is tracked because the CFA of ld.so's _dl_runtime_resolve, which is below every lazily bound function's lookup,
is relative to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

FROM_RSP = 0
FROM_RBP = 1
NO_ENTRY = 2
UNUSABLE = 3
UNMAPPED = 4
OUTERMOST = 5
SIGNAL = 6
GENERAL = 7
MANAGED = 8


# How a register's value in the caller is found (DWARF 5, section 6.4.1).
SAME = 0  # unchanged
AT_CFA = 1  # stored at CFA + offset
UNDEFINED = 2  # lost; for the return address: there is no caller
AT_EXPRESSION = 3  # stored at the address that the expression computes
CFA_PLUS = 4  # the value is CFA + offset
EXPRESSION = 5  # the value is the expression's result
REGISTER = 6  # in another register

# One of the above with its operand: an offset in bytes, a register's number, or an expression's bytes.
RegisterRule: TypeAlias = tuple[int, "int | bytes"]

# A row as in the entry: the CFA's register (DWARF number, or BY_EXPRESSION or NOT_DEFINED), its offset in bytes, its
# expression, then the locations of rbp, rbx and the return address. There are three times as many rows as rules that
# are used, so rows stay raw and are compiled on use.
Row: TypeAlias = tuple[int, int, bytes, RegisterRule, RegisterRule, RegisterRule]

BY_EXPRESSION = -1
NOT_DEFINED = -2
UNCHANGED: RegisterRule = (SAME, 0)
_ORDINARY_RETURN_ADDRESS: RegisterRule = (AT_CFA, -8)
_RSP = 7
_STACK_REGISTERS = frozenset({6, 7})
_NOT_SAVED = frozenset({SAME, UNDEFINED})


@dataclass(frozen=True, slots=True)
class GeneralRule:
    """A row that is neither rsp- nor rbp-based in the usual form.

    Either `expression` computes the CFA, or it is `register` (DWARF number) + `offset` bytes.
    """

    expression: bytes
    register: int
    offset: int
    rbp: RegisterRule
    rbx: RegisterRule
    return_address: RegisterRule


Rule: TypeAlias = tuple[int, int, int, int, "GeneralRule | None"]

NO_ENTRY_RULE: Rule = (NO_ENTRY, 0, 0, 0, None)
UNUSABLE_RULE: Rule = (UNUSABLE, 0, 0, 0, None)
UNMAPPED_RULE: Rule = (UNMAPPED, 0, 0, 0, None)
OUTERMOST_RULE: Rule = (OUTERMOST, 0, 0, 0, None)
SIGNAL_RULE: Rule = (SIGNAL, 0, 0, 0, None)


def compile_row(row: Row) -> Rule:
    """Turn a row into the form that the walk reads."""
    register, offset, expression, rbp, rbx, return_address = row
    if return_address[0] == UNDEFINED:
        return OUTERMOST_RULE
    if register == NOT_DEFINED or return_address[0] == SAME:
        return UNUSABLE_RULE
    rbp_words = _saved_words(rbp)
    rbx_words = _saved_words(rbx)
    if (
        register in _STACK_REGISTERS
        and return_address == _ORDINARY_RETURN_ADDRESS
        and rbp_words is not None
        and rbx_words is not None
        and offset & 7 == 0
    ):
        return (FROM_RSP if register == _RSP else FROM_RBP, offset >> 3, rbp_words, rbx_words, None)
    if register != BY_EXPRESSION:
        expression = b""
    return (GENERAL, 0, 0, 0, GeneralRule(expression, register, offset, rbp, rbx, return_address))


def _saved_words(rule: RegisterRule) -> int | None:
    """Location of a saved register in words from the CFA; 0: unchanged; None: it has another form.

    An undefined register counts as unchanged: a caller that needs it has had it saved.
    """
    how, operand = rule
    if how in _NOT_SAVED:
        return 0
    if how == AT_CFA and isinstance(operand, int) and operand < 0 and operand & 7 == 0:
        return operand >> 3
    return None
