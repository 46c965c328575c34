"""The syntax of source texts, read in a process of its own."""

import pytest

from services.symbols import highlighting
from services.symbols.highlight_child import CLASSES
from services.symbols.highlighting import highlighted, language_of


def parts(path: str, text: str) -> list[list[tuple[str, str]]]:
    """Text and class of the parts of each line that have a colour."""
    found = highlighted(path, text)
    assert found.missing == ""
    lines = text.replace("\r\n", "\n").split("\n")
    assert len(found.lines) == len(lines)
    result = []
    for line, numbers in zip(lines, found.lines, strict=True):
        units, at, coloured = line.encode("utf-16-le"), 0, []
        for length, kind in zip(numbers[::2], numbers[1::2], strict=True):
            coloured.append((units[2 * at : 2 * (at + length)].decode("utf-16-le"), CLASSES[kind]))
            at += length
        assert 2 * at <= len(units)
        result.append([part for part in coloured if part[1]])
    return result


def test_parts_have_classes_and_lines_keep_their_numbers() -> None:
    text = '\n#include "a.h"\r\nint f() {\n  /* two\n  lines */ return 7; }\n'
    assert parts("/src/a.cpp", text) == [
        [],
        [("#include", "directive"), ('"a.h"', "string")],
        [("int", "type"), ("f", "name")],
        [("/* two", "comment")],
        [("  lines */", "comment"), ("return", "keyword"), ("7", "number")],
        [],
    ]


def test_lengths_are_those_of_javascript() -> None:
    assert parts("a.py", 'x = "😀é" # ok') == [[('"😀é"', "string"), ("# ok", "comment")]]


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("/usr/include/c++/12/string_view", "cpp"),
        ("/src/Makefile", ""),
        ("/src/a.GO", "go"),
        ("a.h", "cpp"),
        ("a.key", ""),
    ],
)
def test_the_path_gives_the_language(path: str, language: str) -> None:
    assert language_of(path) == language


def test_every_language_is_known_to_pygments() -> None:
    from pygments.lexers import get_lexer_by_name

    for language in set(highlighting._BY_ENDING.values()):
        get_lexer_by_name(language)


def test_limits_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert highlighted("a.txt", "text").missing == "The language of a.txt is not known."
    monkeypatch.setattr(highlighting, "MOST_BYTES", 3)
    assert highlighted("a.c", "four").missing == "The text has 4 bytes; the limit is 3."


def test_a_text_that_needs_too_much_has_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(highlighting, "_CHILD_BYTES", 4 << 20)
    found = highlighted("a.c", "int i;")
    assert found.lines == []
    assert "4 MiB" in found.missing
