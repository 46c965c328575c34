"""GIVEN what a caller says first WHEN it is judged THEN only a whole greeting passes, and nothing else waits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.serving.client_hello import is_client_hello, is_preface
from tests.handshakes import PREFACE, client_hello

HELLO = client_hello()
MESSAGE = HELLO[5:]


def records(message: bytes, *lengths: int) -> bytes:
    """The message in records of these lengths, the rest in one more."""
    said = b""
    for length in (*lengths, len(message)):
        fragment, message = message[:length], message[length:]
        said += b"\x16\x03\x01" + len(fragment).to_bytes(2) + fragment if fragment else b""
    return said


@given(
    st.lists(st.integers(1, len(MESSAGE)), max_size=5), st.integers(0, 2 * len(HELLO)), st.binary(max_size=9)
)
def test_a_client_hello_passes_once_it_is_all_there(lengths: list[int], there: int, more: bytes):
    whole = records(MESSAGE, *lengths)
    assert is_client_hello(whole + more) is True
    assert is_client_hello(whole[: min(there, len(whole) - 1)]) is None


@pytest.mark.parametrize(
    "said",
    [
        b"G",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        PREFACE,
        b"\x16\x02",
        b"\x15\x03\x01\0\2",
        b"\x16\x03\x01\0\0",
        b"\x16\x03\x01\x40\1",
        b"\x16\x03\x01\0\4\2",
        b"\x16\x03\x01\0\4\1\1\0\0",
        records(MESSAGE, *[1] * 8),
    ],
    ids=["http", "ssh", "http-2", "tls-2", "alert", "empty", "long-record", "server-hello", "long-hello", "crumbs"],
)  # fmt: skip
def test_what_cannot_become_one_is_known_at_once(said: bytes):
    assert is_client_hello(said) is False


@given(st.binary(max_size=40))
def test_nothing_is_waited_for_without_an_end(said: bytes):
    assert is_client_hello(said + bytes(1 << 14)) is not None
    assert is_client_hello(b"\x16\x03\x01\x40\0\1\0\x3f\xff" + said + bytes(1 << 14)) is not None
    assert is_preface(said + bytes(24)) is not None


@given(st.integers(0, 23))
def test_a_preface(there: int):
    assert is_preface(PREFACE) is True
    assert is_preface(PREFACE[:there]) is None
    assert is_preface(PREFACE[:there] + b"x") is False
