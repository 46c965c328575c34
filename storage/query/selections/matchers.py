"""Conditions on labels and on frames: `application="x"`, `platform=~"Zen.*"`, `self.function!="main"`."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from storage.query.selections import patterns

APPLICATION = "application"
"""The label of the program that a process belongs to."""
FRAME_KEYS = ("function", "file", "binary")
"""Members of a frame. They are not labels of profiles, because a stack has many of each."""
SELF = "self."
"""Prefix for members of the innermost frame: `self.function`."""
FRAME_NAMES = (*FRAME_KEYS, *(SELF + key for key in FRAME_KEYS))
"""Names of frame members in matchers: of any frame, and of the innermost."""
ALIASES = {"app": "application", "build-id": "build_id"}
"""Short forms and other spellings of names; a quoted name is used as it is."""

BARE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
"""A name that needs no quotes."""
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


class Operator(StrEnum):
    """How a label's value is compared."""

    EQUAL = "="
    NOT_EQUAL = "!="
    MATCHES = "=~"
    NOT_MATCHES = "!~"

    @property
    def negative(self) -> bool:
        """The operator is satisfied if its counterpart is not."""
        return self in {Operator.NOT_EQUAL, Operator.NOT_MATCHES}

    @property
    def is_pattern(self) -> bool:
        """The right side is a regular expression."""
        return self in {Operator.MATCHES, Operator.NOT_MATCHES}


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label or on frames; the value of an absent label is the empty text."""

    label: str
    operator: Operator
    value: str
    at: int = field(default=0, compare=False, repr=False)
    """Position of its name in the source text, for errors that are found later."""
    parameter: str = field(default="select", compare=False, repr=False)
    """Parameter with the source text."""

    @property
    def on_frames(self) -> bool:
        """The condition is on a stack's frames, not on a profile's labels."""
        return self.label in FRAME_NAMES

    def positive(self) -> Callable[[str], bool]:
        """The test of `=` or `=~`, also for a negative matcher."""
        if self.operator.is_pattern:
            return patterns.full_match(self.value, parameter=self.parameter)
        return lambda text: text == self.value

    def __str__(self) -> str:
        return f"{format_name(self.label)}{self.operator}{quoted(self.value)}"


def format_name(name: str) -> str:
    """The name for matchers and keys: quoted if it would otherwise be read as something else."""
    bare = BARE_NAME.fullmatch(name) is not None and name not in ALIASES
    return name if bare else quoted(name)


def quoted(text: str) -> str:
    """The text as a string of the grammar."""
    return f'"{text.translate(_ESCAPED)}"'


def format_matchers(matchers: Iterable[Matcher]) -> str:
    """The text that parses to these matchers; `{}` for none."""
    return "{" + ",".join(map(str, matchers)) + "}"
