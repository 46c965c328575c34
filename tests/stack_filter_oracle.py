"""What selections say of frames, done to lists of frames one stack at a time; independent of the tree."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from storage.query.selections.matchers import Matcher
from storage.query.selections.selection import Selection


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame as filters see it."""

    function: str
    file: str = ""
    binary: str = ""

    def matches(self, pattern: str) -> bool:
        """As pprof's `matchesName`."""
        texts = [self.function, self.file, *([self.binary] if self.binary else [])]
        return any(re.search(pattern, text) for text in texts)


def left_of(stack: Sequence[Frame], selection: Selection) -> list[Frame] | None:
    """What is shown of a stack, outermost first; None: it does not count."""
    if not all(satisfied(stack, matcher) for matcher in selection.frames):
        return None
    if selection.focus and not any(frame.matches(selection.focus) for frame in stack):
        return None
    if selection.ignore and any(frame.matches(selection.ignore) for frame in stack):
        return None
    left = list(stack)
    if selection.hide:
        left = [frame for frame in left if not frame.matches(selection.hide)]
    if selection.show:
        left = [frame for frame in left if frame.matches(selection.show)]
    if selection.show_from:
        while left and not left[0].matches(selection.show_from):
            left.pop(0)
    return left or (None if selection.contracts_stacks else left)


def satisfied(stack: Sequence[Frame], matcher: Matcher) -> bool:
    """Whether a matcher on frames keeps a stack."""
    member = matcher.label.removeprefix("self.")
    frames = stack[-1:] if matcher.label.startswith("self.") else stack
    texts = [getattr(frame, member) for frame in frames]
    if matcher.operator.is_pattern:
        found = any(re.fullmatch(matcher.value, text) for text in texts)
    else:
        found = matcher.value in texts
    return found != matcher.operator.negative
