"""The keys of rows besides labels: functions, files, binaries, source lines, or several of these together.

A stack has many of each, so these are not labels of profiles. A function has one file and one binary: they add nothing
to a key with the function. A line belongs to a function, or to a file if the key has no function.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from storage.arrays import Int64
from storage.errors import BadSelection
from storage.query.selections.matchers import FRAME_KEYS
from storage.query.stacks.function_names import FunctionRow, Functions

LINE = "line"
KEYS = (*FRAME_KEYS, LINE)
MOST_KEYS = 6

FrameKeys = tuple[str, ...]
"""Some of `KEYS` in their order, without keys that another one implies."""


class Keys(NamedTuple):
    """The keys of rows: labels and frame keys."""

    labels: tuple[str, ...]
    frames: FrameKeys

    @property
    def by_line(self) -> bool:
        """Rows are source lines, which stacks do not have."""
        return LINE in self.frames

    @property
    def frame(self) -> str | None:
        """The frame keys as one word, for the planner; None: there are none."""
        return "+".join(self.frames) or None


def split_keys(by: Sequence[str]) -> Keys:
    """The labels among the keys, and the frame keys. Raises `BadSelection`."""
    if not by or len(by) > MOST_KEYS or len(set(by)) < len(by):
        raise BadSelection(
            f"Rows are grouped by one to {MOST_KEYS} different keys.",
            hint="For example by=function, by=application,version or by=function,line.",
            parameter="by",
        )
    frames = {key for key in by if key in KEYS}
    if "function" in frames:
        frames -= {"file", "binary"}
    elif LINE in frames:
        frames.add("file")
    return Keys(tuple(key for key in by if key not in KEYS), tuple(key for key in KEYS if key in frames))


@dataclass(frozen=True, slots=True)
class Numbering:
    """A number ≥ 0 for each of some functions: equal for equal frame keys, apart from the line."""

    functions: Functions
    keys: FrameKeys
    ids: Int64
    """Functions, ascending."""
    numbers: Int64
    """Number of each of them: the function's, file's or binary's own; dense numbers for several keys."""
    first: Int64
    """By number, for several keys: the place in `ids` of a function with that number."""

    @classmethod
    def of(cls, functions: Functions, ids: Int64, keys: FrameKeys) -> "Numbering":
        """Numbers loaded functions, ascending; the root, 0, may be among them."""
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
        """Numbers that are equal for equal frame keys across `Numbering`s of these `Functions`."""
        if not len(self.first):
            return numbers
        ids = self.ids[self.first[numbers]]
        pairs: Int64 = (self.functions.file(ids) << 32) | self.functions.binary(ids)
        return pairs

    def key(self, number: int) -> dict[str, str]:
        """The names of the number's keys, without a line."""
        if self.keys[0] == "function":
            return function_key(self.functions.row(number))
        if not len(self.first):
            return {self.keys[0]: self.functions.text(number)}
        row = self.functions.row(int(self.ids[self.first[number]]))
        return {"file": row.file, "binary": row.binary}


def function_key(row: FunctionRow) -> dict[str, str]:
    """The key of a row that stands for a function."""
    return {
        "function": row.name,
        "file": row.file,
        "binary": row.binary,
        "status": row.status.name.lower(),
        "kind": row.kind.name.lower(),
    }
