"""Sound input, damaged."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

NUMBERS = (
    0,
    1,
    7,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0xFFFFFFFF,
    1 << 40,
    (1 << 63) - 1,
    (1 << 64) - 1,
)
TOKENS = (
    b"0", b"-1", b"18446744073709551616", b"0x", b"f" * 40, b"\0", b"\n", b" ", b":", b"/", b"..", b"\xff\xfe", b"%",
    b"[", b"{" * 300, b"=", b'"', b"(deleted)", b"\\134", "\N{GREEK SMALL LETTER ALPHA}".encode(), b"1e999", b"nan",
)  # fmt: skip
Act = Callable[[bytes, random.Random], object]


@dataclass(frozen=True)
class Parser:
    """One parser: sound inputs, what is done with a damaged one, and whether it is text."""

    whole: Sequence[bytes]
    act: Act
    text: bool = False


def damaged(parser: Parser, chance: random.Random) -> bytes:
    """A sound input, damaged once to some dozens of times."""
    data = bytearray(chance.choice(parser.whole))
    for _ in range(chance.choice((1, 1, 1, 2, 4, 16, 48))):
        at = chance.randrange(len(data) + 1)
        kind = chance.randrange(8)
        if kind == 0 and data:
            data[at % len(data)] = chance.randrange(256)
        elif kind == 1 and data:
            data[at % len(data)] ^= 1 << chance.randrange(8)
        elif kind == 2:
            size = chance.choice((1, 2, 4, 8))
            value = chance.choice((*NUMBERS, chance.randrange(1 << 64))) & ((1 << 8 * size) - 1)
            at = at // size * size if chance.random() < 0.7 else at
            data[at : at + size] = value.to_bytes(size, "little")
        elif kind == 3:
            del data[at : at + chance.choice((1, 2, 8, 64))]
        elif kind == 4:
            other = chance.choice(parser.whole)
            begin = chance.randrange(len(other) + 1)
            data[at:at] = other[begin : begin + chance.choice((4, 16, 64, 256))]
        elif kind == 5 and chance.random() < 0.2:
            del data[at:]
        elif kind == 6 and parser.text:
            data[at : at + chance.randrange(4)] = chance.choice(TOKENS)
        elif kind == 7 and chance.random() < 0.1:
            data[at:at] = data[at : at + 64] * chance.choice((2, 50, 400))
    return bytes(data)
