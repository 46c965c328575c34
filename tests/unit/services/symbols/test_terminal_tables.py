"""What is known of symbols, in a terminal."""

import io

import pytest
from rich.console import Console

from services.symbols.terminal_tables import first_sentence, listing, progress, short, size

REPROCESSING = {"renamed": 0, "captures": 0, "ingested": 0, "failed": 0, "left": 0}
BINARY = {
    "key": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    "name": "libz.so [odd]",
    "unresolved": 1234,
    "unresolved_cpu_seconds": 12.3,
    "machines": 7,
    "share": {"value": 0.0777, "lo": 0.07, "hi": 0.08},
    "cores": {"value": 1.5, "lo": 1, "hi": 2},
    "low_confidence": False,
    "quality": None,
    "building": False,
    "disputed": False,
    "reprocessing": None,
    "reason": "It was stripped. It was not uploaded.",
}


def printed(**changes: object) -> str:
    console = Console(width=150, record=True, file=io.StringIO())
    console.print(listing({"binaries": [{**BINARY, **changes}]}))
    return console.export_text()


def test_a_name_does_nothing_to_the_terminal():
    escape = "\x1b]0;owned\x07"
    assert "\x1b" not in printed(name=f"a{escape}", reason=f"It was {escape}. So.")


def test_a_binary_is_a_line():
    (_, line) = printed().splitlines()
    assert line.split()[:5] == ["7.8", "%", "7.0–8.0", "1.50", "1,234"]
    assert "libz.so [odd]" in line
    assert "9f86d081884c…" in line
    assert "nothing" in line
    assert line.rstrip().endswith("It was stripped.")


def test_what_was_not_drawn_at_random_is_in_seconds():
    assert printed(share=None, cores=None).splitlines()[1].split()[:3] == ["12.30", "s", "–"]


def test_what_is_under_way_stands_before_the_reason():
    under_way = {**REPROCESSING, "renamed": 1, "captures": 4, "ingested": 1, "left": 3}
    assert "1 function named at once, 1 of 4" in printed(reprocessing=under_way)
    assert "Lines are being read" in printed(building=True)
    assert "Two machines sent different symbols" in printed(disputed=True)


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.00 kB"),
        (999_999, "1.00 MB"),
        (12_345_678, "12.3 MB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_sizes(count: int, text: str):
    assert size(count) == text


def test_words():
    assert short("go:x/y") == "go:x/y"
    assert progress(REPROCESSING) == "nothing to be reprocessed"
    assert progress({**REPROCESSING, "captures": 1, "ingested": 1}) == "1 capture reprocessed"
    assert first_sentence("") == ""
