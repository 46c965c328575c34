"""The functions that a question is about: one by its id, or those of a name, a file, a binary."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from storage.arrays import Bool, Int64, distinct
from storage.errors import BadSelection
from storage.query.selections.grammar import parse_matchers
from storage.query.selections.matchers import FRAME_KEYS, Matcher, Operator
from storage.query.stacks.function_names import Functions

_MOST_ID = 1 << 31


@dataclass(frozen=True, slots=True)
class Subject:
    """Functions: the one with this id, or those that match all matchers, which are on function, file and binary."""

    function_id: int | None = None
    matchers: tuple[Matcher, ...] = ()

    def among(self, functions: Functions, ids: Int64) -> Bool:
        """Which of the loaded functions are in the subject; the root never is."""
        if self.function_id is not None:
            canonical = functions.naming.canonical
            known = self.function_id < len(canonical) and canonical[self.function_id] > 0
            chosen: Bool = ids == (canonical[self.function_id] if known else self.function_id)
            return chosen
        chosen = ids > 0
        for matcher in self.matchers:
            test = matcher.positive()
            match matcher.label:
                case "function":
                    passed = functions.matching(ids, test)
                case "file":
                    passed = _texts(functions, functions.file(ids), test)
                case _:
                    passed = _texts(functions, functions.binary(ids), test)
            chosen &= ~passed if matcher.operator.negative else passed
        return chosen


def parse_subject(
    *, function_id: int | None = None, function: str = "", parameter: str = "function"
) -> Subject:
    """Parse a subject: an id, else a name, or matchers in braces, e.g. `{file=~".*/zlib/.*"}`.

    Raises `BadSelection`.
    """
    if (function_id is None) == (not function):
        raise BadSelection(
            "The function is missing: give its id or its name.",
            hint='For example function=malloc, or matchers in braces: function={binary="libz.so.1"}.',
            parameter=parameter,
        )
    if function_id is not None:
        if not 0 < function_id < _MOST_ID:
            raise BadSelection(
                f"Invalid function id {function_id}: ids are above 0.", parameter="function_id"
            )
        return Subject(function_id)
    if not function.startswith("{"):
        return Subject(matchers=(Matcher("function", Operator.EQUAL, function, parameter=parameter),))
    matchers = parse_matchers(function, parameter=parameter)
    for matcher in matchers:
        if matcher.label not in FRAME_KEYS:
            raise BadSelection(
                f"{matcher.label!r} is not a label of functions.",
                at=matcher.at,
                hint="The labels of functions are function (the name), file and binary. Put other labels "
                "into select.",
                parameter=parameter,
            )
    if not matchers:
        raise BadSelection("The function's name is empty.", at=0, hint="Write a name.", parameter=parameter)
    return Subject(matchers=matchers)


def parse_function_subject(
    *, function_id: int | None = None, function: str = "", binary: str = ""
) -> Subject:
    """As `parse_subject`; `binary` narrows a function given by its name; an id needs no narrowing. Raises `BadSelection`."""
    found = parse_subject(function_id=function_id, function=function)
    if not binary or function_id is not None:
        return found
    return Subject(matchers=(*found.matchers, Matcher("binary", Operator.EQUAL, binary, parameter="binary")))


def parse_lines_subject(
    *, function_id: int | None = None, function: str = "", file: str = "", binary: str = ""
) -> Subject:
    """As `parse_subject`, or the functions of a file, in one binary if it is given. Raises `BadSelection`."""
    if not file and not binary:
        return parse_subject(function_id=function_id, function=function)
    if function_id is not None or function or not file:
        raise BadSelection(
            "The lines are missing: give a function or a file.",
            hint="Give function_id, function, or file. If several binaries have the file, give binary, too.",
            parameter="file",
        )
    named = {"file": file, "binary": binary}
    matchers = (Matcher(key, Operator.EQUAL, value, parameter=key) for key, value in named.items() if value)
    return Subject(matchers=tuple(matchers))


def _texts(functions: Functions, numbers: Int64, test: Callable[[str], bool]) -> Bool:
    """Which of these files or binaries pass; each is tested once."""
    used, which = distinct(numbers)
    passed = np.fromiter((test(functions.text(number)) for number in used.tolist()), np.bool_, len(used))
    return passed[which]
