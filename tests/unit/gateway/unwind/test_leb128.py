import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import BadImage
from gateway.unwind.leb128 import read_pointer, read_sleb, read_uleb, skip_pointer


def uleb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte = value & 127
        value >>= 7
        out.append(byte | (128 if value else 0))
        if not value:
            return bytes(out)


def sleb(value: int) -> bytes:
    out = bytearray()
    while True:
        byte = value & 127
        value >>= 7
        done = value == (-1 if byte & 64 else 0)
        out.append(byte | (0 if done else 128))
        if done:
            return bytes(out)


@given(st.integers(0, 2**64 - 1), st.binary(max_size=3))
def test_uleb_round_trip(value, rest):
    data = uleb(value)
    assert read_uleb(data + rest, 0) == (value, len(data))


@given(st.integers(-(2**63), 2**63 - 1), st.binary(max_size=3))
def test_sleb_round_trip(value, rest):
    data = sleb(value)
    assert read_sleb(data + rest, 0) == (value, len(data))


@pytest.mark.parametrize("read", [read_uleb, read_sleb])
def test_a_number_without_end_is_refused(read):
    with pytest.raises(BadImage):
        read(b"\xff" * 1000, 0)


@pytest.mark.parametrize("read", [read_uleb, read_sleb])
def test_a_number_cut_off_is_an_index_error(read):
    with pytest.raises(IndexError):
        read(b"\x80\x80", 0)


@pytest.mark.parametrize(
    ("encoding", "data", "value"),
    [
        (0x1B, b"\xfc\xff\xff\xff", 0x1000 - 4),
        (0x03, b"\xfc\xff\xff\xff", 0xFFFFFFFC),
        (0x00, b"\x01\0\0\0\0\0\0\x80", 0x8000000000000001),
        (0x1C, b"\xff" * 8, 0xFFF),
        (0x02, b"\x34\x12", 0x1234),
        (0x1A, b"\xff\xff", 0xFFF),
        (0x01, b"\x80\x01", 128),
        (0x19, b"\x7f", 0xFFF),
    ],
)
def test_pointer_encodings(encoding, data, value):
    assert read_pointer(data, 0, encoding, pc=0x1000) == (value, len(data))


@pytest.mark.parametrize("encoding", [0x9B, 0x2B, 0x3B, 0x50, 0x05, 0xFF])
def test_other_pointer_encodings_are_refused(encoding):
    with pytest.raises(BadImage):
        read_pointer(b"\0" * 16, 0, encoding, pc=0)


def test_skipping_takes_the_size_from_the_format_alone():
    assert skip_pointer(b"\0" * 16, 3, 0x9B) == 7  # indirect, as personality routines are
    assert skip_pointer(b"\0" * 16, 3, 0xFF) == 3
