r"""The grammar of HTTP, command line and web UI: `{application="x", platform=~"Zen.*", function!="main"}`.

    matchers = [ "{" ] [ matcher { "," matcher } [ "," ] ] [ "}" ]
    matcher  = name ( "=" | "!=" | "=~" | "!~" ) string
    name     = bare | string
    bare     = ( letter | "_" ) { letter | digit | "_" | "." | "/" | "-" }
    string   = '"' { character | "\\" escape } '"'  |  "`" { character } "`"
    escape   = '"' | "\\" | "n" | "t" | "r"

It is Prometheus' selector without the metric name: regular expressions match the whole value, and the value of a label
that a profile does not have is the empty text. A back-quoted string has no escapes, which suits regular expressions. A
quoted name may have any characters and has no short form: `app` is `application`, `"app"` is the label of that name.
Braces are optional, but both or none are required. Blanks are space, tab and line ends.
webui/src/selection/matchers.ts implements the same grammar; tests/golden/selections tests both.
"""

import re

from storage.errors import BadSelection
from storage.query.selections import patterns
from storage.query.selections.matchers import ALIASES, BARE_NAME, Matcher, Operator
from storage.query.selections.texts import require_text

LONGEST = 4096
"""Characters of all matchers together."""
LONGEST_NAME = 256
"""Characters of a label's name."""
MOST = 32
"""Matchers of one selection."""

_SPACE = re.compile(r"[ \t\r\n]*")
_OPERATOR = re.compile(r"=~|!~|!=|=")
_QUOTES = ('"', "`")
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t", "r": "\r"}


def parse_matchers(text: str, *, parameter: str = "select") -> tuple[Matcher, ...]:
    """The matchers of the text. Raises `BadSelection` with the position of the error."""
    require_text(text, longest=LONGEST, what="The text of the matchers", parameter=parameter)
    return _Reader(text, parameter).matchers()


def parse_keys(text: str, *, parameter: str = "by") -> tuple[str, ...]:
    """The names of a list such as `application,"thread id"`. Raises `BadSelection` as `parse_matchers` does.

    A quoted name follows the grammar; any other extends to the next comma, without the blanks around it.
    """
    require_text(text, longest=LONGEST, what="The list of keys", parameter=parameter)
    return _Reader(text, parameter).keys()


class _Reader:
    """A text and the position of the reader."""

    def __init__(self, text: str, parameter: str) -> None:
        self._text = text
        self._at = 0
        self._parameter = parameter

    def matchers(self) -> tuple[Matcher, ...]:
        self._skip_space()
        opened = self._take("{")
        found: list[Matcher] = []
        while not self._ended(opened=opened):
            if len(found) == MOST:
                raise self._bad(f"There are more than {MOST} matchers.")
            found.append(self._matcher())
            if not self._take(",") and not self._ended(opened=opened):
                raise self._expected("a comma or a closing brace" if opened else "a comma or the end")
        if opened and not self._take("}"):
            raise self._expected("a closing brace")
        if self._at < len(self._text):
            raise self._expected("the end")
        return tuple(found)

    def keys(self) -> tuple[str, ...]:
        found: list[str] = []
        while True:
            self._skip_space()
            if self._text.startswith(_QUOTES, self._at):
                found.append(self._string()[0])
            else:
                end = self._text.find(",", self._at)
                bare = self._text[self._at : len(self._text) if end < 0 else end]
                self._advance(self._at + len(bare))
                found.append(ALIASES.get(bare.strip(), bare.strip()))
            if self._at == len(self._text):
                return tuple(found)
            if not self._take(","):
                raise self._expected("a comma or the end")

    def _ended(self, *, opened: bool) -> bool:
        self._skip_space()
        return self._at == len(self._text) or (opened and self._text[self._at] == "}")

    def _matcher(self) -> Matcher:
        at = self._at
        name = self._name()
        operator = _OPERATOR.match(self._text, self._at)
        if operator is None:
            raise self._expected("one of = != =~ !~")
        self._advance(operator.end())
        value, places = self._string()
        matcher = Matcher(name, Operator(operator[0]), value, at, self._parameter)
        if matcher.operator.is_pattern:
            patterns.full_match(value, parameter=self._parameter, places=places)
        return matcher

    def _name(self) -> str:
        start = self._at
        if self._text.startswith(_QUOTES, start):
            name = self._string()[0]
        else:
            bare = BARE_NAME.match(self._text, start)
            if bare is None:
                raise self._expected("a label's name", hint='Write name="value", e.g. application="python3".')
            self._advance(bare.end())
            name = ALIASES.get(bare[0], bare[0])
        if not 0 < len(name) <= LONGEST_NAME:
            raise self._bad(f"A label's name has 1 to {LONGEST_NAME} characters.", at=start)
        return name

    def _string(self) -> tuple[str, list[int]]:
        """The string's value, and the positions of its characters and its end in the text."""
        quote = self._text[self._at : self._at + 1]
        if quote not in _QUOTES:
            raise self._expected("a string in double quotes", hint='Write name="value".')
        start = self._at
        self._at += 1
        value: list[str] = []
        places: list[int] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            places.append(self._at)
            if char == quote:
                self._advance(self._at + 1)
                return "".join(value), places
            if char == "\\" and quote == '"':
                self._at += 1
                char = _ESCAPES.get(self._text[self._at : self._at + 1], "")
                if not char:
                    raise self._expected(
                        'one of " \\ n t r after the backslash',
                        hint="In double quotes a backslash is written twice; in back quotes once.",
                    )
            value.append(char)
            self._at += 1
        raise self._bad(
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
        return self._bad(f"Expected {what} at character {self._at + 1}, found {found}.", hint=hint)

    def _bad(self, message: str, *, at: int | None = None, hint: str = "") -> BadSelection:
        return BadSelection(message, at=self._at if at is None else at, hint=hint, parameter=self._parameter)
