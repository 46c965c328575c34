"""HotSpot's compressed numbers, line tables and scopes."""

import pytest

from gateway.runtimes.hotspot.errors import Damaged
from gateway.runtimes.hotspot.streams import (
    FORMS,
    MAX_SCOPES,
    LineTable,
    Scope,
    read_scopes,
    read_signed,
    read_unsigned,
)


def unsigned(value: int, excluded: int) -> bytes:
    """The encoder of the specification (J2SE Pack200, UNSIGNED5), with or without zero bytes."""
    low = 256 - 64 - excluded
    coded = bytearray()
    while value >= low and len(coded) < 4:
        value -= low
        coded.append(low + value % 64 + excluded)
        value >>= 6
    coded.append(value + excluded)
    return bytes(coded)


def signed(value: int, excluded: int) -> bytes:
    return unsigned((value << 1 ^ value >> 31) & 0xFFFFFFFF, excluded)


@pytest.mark.parametrize("excluded", FORMS)
def test_numbers_come_back(excluded: int) -> None:
    values = [*range(700), 12_415, 12_416, 798_847, 798_848, 1 << 24, (1 << 31) - 1, (1 << 32) - 1]
    for value in values:
        data = unsigned(value, excluded)
        assert read_unsigned(b"\xff" + data + b"\1", 1, excluded) == (value, 1 + len(data))
    for number in (0, 1, -1, 95, -96, 1 << 20, -(1 << 20)):
        assert read_signed(signed(number, excluded), 0, excluded)[0] == number


@pytest.mark.parametrize(
    ("value", "old", "new"),
    [
        (0, "00", "01"),
        (190, "be", "bf"),
        (191, "bf", "c001"),
        (192, "c000", "c101"),
        (12_415, "ffbe", "c0c001"),
    ],
)
def test_the_two_forms_as_the_jvm_writes_them(value: int, old: str, new: str) -> None:
    assert read_unsigned(bytes.fromhex(old), 0, 0)[0] == value
    assert read_unsigned(bytes.fromhex(new), 0, 1)[0] == value


@pytest.mark.parametrize("data", [b"", b"\xff", b"\xff\xff\xff\xff"])
def test_a_number_that_is_cut_off_is_refused(data: bytes) -> None:
    with pytest.raises(Damaged):
        read_unsigned(data, 0, 0)


def test_a_zero_byte_is_no_number_of_the_newer_form() -> None:
    with pytest.raises(Damaged):
        read_unsigned(b"\0", 0, 1)


@pytest.mark.parametrize("excluded", FORMS)
def test_scopes_are_followed_to_the_outermost(excluded: int) -> None:
    outer = unsigned(0, excluded) + unsigned(1, excluded) + unsigned(18, excluded)
    middle = unsigned(1, excluded) + unsigned(300, excluded) + unsigned(0, excluded)
    inner = unsigned(1 + len(outer), excluded) + unsigned(3, excluded) + unsigned(9, excluded)
    data = b"\xff" + outer + middle + inner
    at = 1 + len(outer) + len(middle)
    assert read_scopes(data, at, excluded) == [Scope(3, 8), Scope(300, -1), Scope(1, 17)]


def test_scopes_that_lead_forward_or_to_themselves_are_refused() -> None:
    for sender in (1, 2, 60):
        with pytest.raises(Damaged):
            read_scopes(b"\xff" + bytes([sender, 1, 1]) + bytes(80), 1, 0)


def test_more_scopes_than_any_compiler_nests_are_refused() -> None:
    data, last = bytearray(b"\xff\0\1\1"), 1
    for _ in range(MAX_SCOPES):
        sender, last = last, len(data)
        data += unsigned(sender, 0) + b"\1\1"
    assert len(read_scopes(bytes(data), sender, 0)) == MAX_SCOPES
    with pytest.raises(Damaged):
        read_scopes(bytes(data), last, 0)


@pytest.mark.parametrize("excluded", FORMS)
def test_lines_by_small_steps_and_by_escapes(excluded: int) -> None:
    # (bci, line): (0, 3) as step 3, (5, 4) as step, (5 + 700, 4 - 2) and (705 + 40, 2 + 100) by escape
    table = bytes([0 << 3 | 3, 5 << 3 | 1])
    table += b"\xff" + signed(700, excluded) + signed(-2, excluded)
    table += b"\xff" + signed(40, excluded) + signed(100, excluded) + b"\0"
    assert [LineTable(table, excluded).at(bci) for bci in (0, 4, 5, 704, 705, 744, 745, 9000)] == [
        3, 3, 4, 4, 2, 2, 102, 102,
    ]  # fmt: skip
    assert LineTable(b"\0", excluded).at(0) == 0


def test_the_last_of_several_lines_of_a_bytecode_counts() -> None:
    # javac writes two entries for one bytecode where an expression begins on another line.
    assert LineTable(bytes([0 << 3 | 5, 0 << 3 | 2, 4 << 3 | 1, 0]), 0).at(0) == 7
