"""GIVEN copies of code objects, sound and forged WHEN frames are named THEN only what proves its type has a name."""

import random
import struct

from hypothesis import given
from hypothesis import strategies as st

from gateway.runtimes.python import frame_records
from gateway.runtimes.python.code_objects import CodeObjects, PythonFrame, read_text
from gateway.runtimes.python.frame_records import (
    FILE_BYTES,
    HEAD_BYTES,
    NAME_BYTES,
    RawCode,
    RawFrame,
    RawFrames,
    parse_record,
)
from gateway.runtimes.python.layouts import LAYOUTS, Text

LAYOUT = LAYOUTS[3, 12]
CODE_TYPE, TEXT_TYPE = 0x5000, 0x6000
NARROW = Text(state=32, ascii_data=40, data=56)


def text(value: str, size: int, kind: int = 1, type_: int = TEXT_TYPE) -> bytes:
    is_ascii = value.isascii() and kind == 1
    raw = value.encode({1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[kind])
    state = kind << 2 | 1 << 5 | is_ascii << 6
    head = struct.pack("<QQQQI4x", 1, type_, len(value), 0, state)
    return (head + bytes(0 if is_ascii else 16) + raw + bytes(size))[:size]


def code(name: bytes, file: bytes, *, type_: int = CODE_TYPE, table: bytes = b"\x80\x00") -> RawCode:
    head = bytearray(HEAD_BYTES)
    struct.pack_into("<Q", head, 8, type_)
    struct.pack_into("<i", head, LAYOUT.code_first_line, 7)
    return RawCode(1, 0x9000, bytes(head), name, file, table, False)


def codes() -> CodeObjects:
    return CodeObjects(LAYOUT, (CODE_TYPE, TEXT_TYPE))


def test_a_code_object_is_named():
    known = codes()
    assert known.learn(code(text("C.f", NAME_BYTES), text("/srv/ä.py", FILE_BYTES)))
    assert known.frame(0x9000, 0x9000) == PythonFrame("C.f", "/srv/ä.py", 7, 7)
    assert known.frame(0x9008, 0) is None


def test_what_is_of_another_type_is_refused_and_forgets_what_was_there():
    known = codes()
    good = code(text("f", NAME_BYTES), text("f.py", FILE_BYTES))
    assert known.learn(good)
    for bad in (
        code(good.name, good.file, type_=CODE_TYPE + 8),
        code(text("f", NAME_BYTES, type_=1), good.file),
        code(good.name, text("f.py", FILE_BYTES, type_=1)),
    ):
        assert known.learn(good)
        assert not known.learn(bad)
        assert 0x9000 not in known


@given(st.text(max_size=400), st.sampled_from([1, 2, 4]))
def test_text_is_read_or_shortened(value: str, kind: int):
    limit = {1: 0xFF, 2: 0xFFFF, 4: 0x10FFFF}[kind]
    value = "".join(c for c in value if ord(c) <= limit and c.isprintable() and not 0xD800 <= ord(c) < 0xE000)
    if kind == 2:
        value = "".join(c for c in value if ord(c) <= 0xFFFF)
    found = read_text(text(value, FILE_BYTES, kind), NARROW)
    assert found is not None
    assert found == value or (found.endswith("…") and value.startswith(found[:-1]))


def test_control_characters_are_replaced():
    assert (
        read_text(text("a\0b\nc", NAME_BYTES), NARROW)
        == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"
    )


def test_records_of_the_program_are_parsed():
    body = struct.pack("<HHHHII", 0, 2, frame_records.TOO_DEEP, 0, 9, 0) + struct.pack(
        "<6Q", 1, 2, 3, 4, 5, 6
    )
    found = parse_record(body + bytes(4))
    assert found == RawFrames(9, frame_records.TOO_DEEP, (RawFrame(1, 2, 3), RawFrame(4, 5, 6)))
    assert parse_record(body[:-1]) is None
    assert parse_record(struct.pack("<HHHHII", 0, 257, 0, 0, 9, 0) + bytes(257 * 24)) is None


def test_a_hundred_thousand_mutated_images_give_names_or_none():
    """The quick form of `make fuzz-gateway`: no exception, and no name without the types' proof."""
    chance = random.Random(3)
    sound = code(
        text("Klass.method", NAME_BYTES), text("/srv/app/views.py", FILE_BYTES), table=bytes(range(64))
    )
    pieces = [bytearray(sound.head), bytearray(sound.name), bytearray(sound.file), bytearray(sound.table)]
    for number in range(100_000):
        which = chance.randrange(4)
        piece, at = bytearray(pieces[which]), chance.randrange(len(pieces[which]))
        piece[at] = chance.randrange(256)
        if number % 3 == 0 and at + 8 <= len(piece):
            struct.pack_into("<Q", piece, at & ~7, chance.choice((0, 1 << 63, (1 << 64) - 1, 1 << 31)))
        parts = [bytes(each) for each in pieces]
        parts[which] = bytes(piece)
        layout = LAYOUTS[3, 9 + number % 4]
        raw = RawCode(1, 0x9000, parts[0], parts[1], parts[2], parts[3], bool(number & 1))
        known = CodeObjects(layout, (CODE_TYPE, TEXT_TYPE))
        if known.learn(raw):
            frame = known.frame(0x9000, chance.randrange(1 << 64))
            assert frame is not None
            assert frame.function
            assert frame.function.isprintable()
            assert 0 <= frame.line < 1 << 31
