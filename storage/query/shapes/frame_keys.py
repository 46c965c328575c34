"""What rows go by besides labels: functions, files, binaries, source lines, or some of these together.

A stack has many of each, so these are no labels of profiles. A function has one file and one binary: naming them beside it
changes nothing. A line is one of a function, or of a file where no function is asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.stacks.function_names import FunctionRow, Functions

LINE = "line"
FRAME_KEYS = ("function", "file", "binary", LINE)
MOST_KEYS = 6

FrameKeys = tuple[str, ...]
"""Some of `FRAME_KEYS` in their order, none that another one implies."""


class Keys(NamedTuple):
    """What the rows of an answer go by."""

    labels: tuple[str, ...]
    frames: FrameKeys

    @property
    def by_line(self) -> bool:
        """Rows are source lines, which stacks do not know."""
        return LINE in self.frames

    @property
    def frame(self) -> str | None:
        """The frame keys as one word, for the planner of cells; None: there are none."""
        return "+".join(self.frames) or None


def split_keys(by: Sequence[str]) -> Keys:
    """The labels among the keys, and the frame keys. Raises `BadSelection`."""
    if not by or len(by) > MOST_KEYS or len(set(by)) < len(by):
        raise BadSelection(
            f"Rows go by one to {MOST_KEYS} different keys.",
            hint="For example by=function, by=application,version or by=function,line.",
            parameter="by",
        )
    frames = {key for key in by if key in FRAME_KEYS}
    if "function" in frames:
        frames -= {"file", "binary"}
    elif LINE in frames:
        frames.add("file")
    return Keys(
        tuple(key for key in by if key not in FRAME_KEYS), tuple(key for key in FRAME_KEYS if key in frames)
    )


@dataclass(frozen=True, slots=True)
class Numbering:
    """A number ≥ 0 for each of some functions: equal where their frame keys, the line apart, are."""

    functions: Functions
    keys: FrameKeys
    ids: Int64
    """Functions, ascending."""
    numbers: Int64
    """Of each of them: the function's, file's or binary's own; for several keys dense ones."""
    first: Int64
    """By number, for several keys: a place in `ids` that has it."""

    @classmethod
    def of(cls, functions: Functions, ids: Int64, keys: FrameKeys) -> "Numbering":
        """Of loaded functions, ascending; the root, 0, may be among them."""
        first = ids[:0]
        match tuple(key for key in keys if key != LINE):
            case ("function",):
                numbers = ids
            case ("file",):
                numbers = functions.file(ids)
            case ("binary",):
                numbers = functions.binary(ids)
            case _:
                pairs = (functions.file(ids) << 32) | functions.binary(ids)
                _, first, numbers = np.unique(pairs, return_index=True, return_inverse=True)
        return cls(functions, keys, ids, numbers.astype(np.int64), first)

    def of_functions(self, ids: Int64) -> Int64:
        """The numbers of some of the functions, in any order."""
        return self.numbers[np.searchsorted(self.ids, ids)]

    def shared(self, numbers: Int64) -> Int64:
        """The same for equal frame keys, whatever functions were numbered, as long as these `Functions` know them."""
        if not len(self.first):
            return numbers
        ids = self.ids[self.first[numbers]]
        pairs: Int64 = (self.functions.file(ids) << 32) | self.functions.binary(ids)
        return pairs

    def key(self, number: int) -> dict[str, str]:
        """What the number stands for, without a line."""
        if self.keys[0] == "function":
            return function_key(self.functions.row(number))
        if not len(self.first):
            return {self.keys[0]: self.functions.text(number)}
        row = self.functions.row(int(self.ids[self.first[number]]))
        return {"file": row.file, "binary": row.binary}


def function_key(row: FunctionRow) -> dict[str, str]:
    """The key of a row that is a function."""
    return {
        "function": row.name,
        "file": row.file,
        "binary": row.binary,
        "status": row.status.name.lower(),
        "kind": row.kind.name.lower(),
    }
