"""GIVEN docs/security.md WHEN a sentence comes, goes or begins otherwise THEN docs/security-tests.md must have its tests."""

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_END = re.compile(r"(?<=[.])\)?\s+(?=[A-Z`/*_\[])")


def promises(text: str) -> list[str]:
    """Each sentence, item of a list and row of a table, without headings and heads of tables."""
    found = []
    for block in re.split(r"\n\s*\n|\n(?=(?:- |\d+\. |\|))", text.partition("\n")[2]):
        lines = " ".join(block.split())
        if lines.startswith("|"):
            found.append(lines)
        elif lines and not lines.startswith("#"):
            found += _END.split(re.sub(r"^(?:- |\d+\. )", "", lines))
    heads = [at - 1 for at, line in enumerate(found) if re.fullmatch(r"\|[-|]+\|", line)]
    return [line for at, line in enumerate(found) if at not in heads and at - 1 not in heads]


def checked() -> list[tuple[str, list[str]]]:
    """The beginnings of sentences, with the tests of each, in the order of docs/security-tests.md."""
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", (ROOT / "docs/security-tests.md").read_text(), re.MULTILINE)
    return [(begin.replace("\\|", "|"), re.findall(r"`(.+?)`", tests)) for begin, tests in rows[1:]]


@functools.cache
def named_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


def test_every_promise_has_its_tests_in_the_same_order():
    sentences = promises((ROOT / "docs/security.md").read_text())
    for sentence, (begin, _) in zip(sentences, checked(), strict=False):
        assert sentence.startswith(begin), f"docs/security-tests.md has {begin!r} for {sentence!r}"
    assert len(sentences) == len(checked())


def test_every_test_exists():
    named = [test for _, tests in checked() for test in tests]
    assert all(tests for _, tests in checked())
    missing = []
    for test in named:
        path, _, name = test.partition("::")
        if not (ROOT / "tests" / path).is_file() or name not in named_in(path):
            missing.append(test)
    assert not missing


@pytest.mark.slow
def test_sentences_rows_and_items_are_told_apart():
    text = "# Title\n\nOne. Two:\n\n| a | b |\n|---|---|\n| c | d |\n| e | f |\n\n## More\n\n- Three, with `x`.\n  Four.\n1. Five\n"
    assert promises(text) == ["One.", "Two:", "| c | d |", "| e | f |", "Three, with `x`.", "Four.", "Five"]
