r"""The grammar of label matchers: `{application="x", platform=~"Zen.*", machine!="m1"}`.

    matchers = [ "{" ] [ matcher { "," matcher } [ "," ] ] [ "}" ]
    matcher  = name ( "=" | "!=" | "=~" | "!~" ) string
    name     = letter { letter | digit | "_" | "." | "/" | "-" }
    string   = '"' { character | "\\" escape } '"'  |  "`" { character } "`"
    escape   = '"' | "\\" | "n" | "t" | "r"

It is Prometheus' selector without the metric name: regular expressions match the whole value, and
a label that a profile does not have is the empty text. A back-quoted string knows no escapes, which
suits regular expressions. Braces are optional, both or none.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from storage.errors import BadSelection
from storage.query.selections import patterns

LONGEST = 4096
"""Characters of all matchers together."""
MOST = 32
"""Matchers of one selection."""

_SPACE = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_OPERATOR = re.compile(r"=~|!~|!=|=")
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r"}
_ALIASES = {"app": "application"}


class Operator(StrEnum):
    """How a label's value is compared."""

    EQUAL = "="
    NOT_EQUAL = "!="
    MATCHES = "=~"
    NOT_MATCHES = "!~"

    @property
    def negative(self) -> bool:
        """The profiles that satisfy it are those that do not satisfy its counterpart."""
        return self in {Operator.NOT_EQUAL, Operator.NOT_MATCHES}

    @property
    def is_pattern(self) -> bool:
        """The right side is a regular expression."""
        return self in {Operator.MATCHES, Operator.NOT_MATCHES}


@dataclass(frozen=True, slots=True)
class Matcher:
    """One condition on a label; the value of a label that is not there is the empty text."""

    label: str
    operator: Operator
    value: str

    def positive(self) -> Callable[[str], bool]:
        """The test of `=` or `=~`, also for a negative matcher."""
        if self.operator.is_pattern:
            return patterns.full_match(self.value)
        return lambda text: text == self.value

    def __str__(self) -> str:
        escaped = self.value.translate(
            {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r"}
        )
        return f'{self.label}{self.operator}"{escaped}"'


def is_label_name(text: str) -> bool:
    """Whether a label can have this name."""
    return _NAME.fullmatch(text) is not None


def format_matchers(matchers: tuple[Matcher, ...]) -> str:
    """The text that parses to these matchers; `{}` for none."""
    return "{" + ",".join(map(str, matchers)) + "}"


def parse_matchers(text: str) -> tuple[Matcher, ...]:
    """The matchers that the text means. Raises `BadSelection` with the position of what is wrong."""
    if len(text) > LONGEST:
        raise BadSelection(f"The matchers have {len(text)} characters; {LONGEST} are allowed.", at=LONGEST)
    return _Reader(text).matchers()


class _Reader:
    """A text and how far it has been read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def matchers(self) -> tuple[Matcher, ...]:
        self._skip_space()
        opened = self._take("{")
        found: list[Matcher] = []
        while not self._ended(opened=opened):
            found.append(self._matcher())
            if len(found) > MOST:
                raise BadSelection(f"There are more than {MOST} matchers.", at=self._at)
            if not self._take(",") and not self._ended(opened=opened):
                raise self._expected("a comma or a closing brace" if opened else "a comma or the end")
        if opened and not self._take("}"):
            raise self._expected("a closing brace")
        if self._at < len(self._text):
            raise self._expected("the end")
        return tuple(found)

    def _ended(self, *, opened: bool) -> bool:
        self._skip_space()
        return self._at == len(self._text) or (opened and self._text[self._at] == "}")

    def _matcher(self) -> Matcher:
        name = _NAME.match(self._text, self._at)
        if name is None:
            raise self._expected("a label's name", hint='Write name="value", e.g. application="python3".')
        self._advance(name.end())
        operator = _OPERATOR.match(self._text, self._at)
        if operator is None:
            raise self._expected("one of = != =~ !~")
        self._advance(operator.end())
        start = self._at
        matcher = Matcher(_ALIASES.get(name[0], name[0]), Operator(operator[0]), self._string())
        if matcher.operator.is_pattern:
            patterns.full_match(matcher.value, at=start)
        return matcher

    def _string(self) -> str:
        quote = self._text[self._at : self._at + 1]
        if quote not in {'"', "`"}:
            raise self._expected("a string in double quotes", hint='Write name="value".')
        start = self._at
        self._at += 1
        value: list[str] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == quote:
                self._advance(self._at + 1)
                return "".join(value)
            if char == "\\" and quote == '"':
                self._at += 1
                escaped = _ESCAPES.get(self._text[self._at : self._at + 1])
                if escaped is None:
                    raise self._expected(
                        'one of " \\ n t r after the backslash',
                        hint="In double quotes a backslash is written twice; in back quotes once.",
                    )
                value.append(escaped)
            elif char == "\0":
                raise self._expected("no NUL character")
            else:
                value.append(char)
            self._at += 1
        raise BadSelection(
            f"The string that begins at character {start + 1} does not end.",
            at=start,
            hint=f"Close it with {quote}",
        )

    def _take(self, char: str) -> bool:
        self._skip_space()
        if not self._text.startswith(char, self._at):
            return False
        self._advance(self._at + 1)
        return True

    def _advance(self, at: int) -> None:
        self._at = at
        self._skip_space()

    def _skip_space(self) -> None:
        space = _SPACE.match(self._text, self._at)
        self._at = space.end() if space else self._at

    def _expected(self, what: str, *, hint: str = "") -> BadSelection:
        there = self._text[self._at : self._at + 1]
        found = repr(there) if there else "the end"
        return BadSelection(
            f"Expected {what} at character {self._at + 1}, found {found}.", at=self._at, hint=hint
        )
