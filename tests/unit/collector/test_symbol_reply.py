"""GIVEN the messages of a Symbols call WHEN one of them is not as it should be THEN nothing of it is believed."""

import hashlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from collector.errors import MalformedReply
from collector.symbol_reply import SymbolsReader
from fleetpb import gateway_pb2
from tests.fake_gateways import symbols_of

Reply = gateway_pb2.SymbolsReply
CONTENT = hashlib.shake_128(b"content").digest(300_000) + bytes(500_000)


def read(replies, **more) -> tuple[SymbolsReader, bytes]:
    reader = SymbolsReader(**more)
    return reader, b"".join(piece for reply in replies for piece in reader.take(reply))


def test_the_whole_content_comes_out():
    reader, content = read(symbols_of(CONTENT, "libc.so.6"))
    assert content == CONTENT
    assert reader.is_complete
    assert reader.is_finished
    assert reader.name == "libc.so.6"


def test_until_the_end_has_come_it_is_not_complete():
    *most, _ = symbols_of(CONTENT)
    reader, content = read(most)
    assert content == CONTENT
    assert not reader.is_finished


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_refusal_ends_it_wherever_it_comes(at: int):
    refusal = Reply(refusal=gateway_pb2.SymbolsRefusal(reason=8, message="broke"))
    reader, _ = read([*list(symbols_of(CONTENT))[:at], refusal])
    assert reader.is_finished
    assert not reader.is_complete
    assert reader.refusal is not None
    with pytest.raises(MalformedReply):
        list(reader.take(refusal))


def end_with(**wrong: object) -> list[Reply]:
    *most, last = symbols_of(CONTENT)
    for name, value in wrong.items():
        setattr(last.end, name, value)
    return [*most, last]


@pytest.mark.parametrize(
    "replies",
    [
        [Reply(data=b"x")],
        [Reply(end=gateway_pb2.SymbolsEnd())],
        list(symbols_of(CONTENT))[:1] * 2,
        [*list(symbols_of(CONTENT))[:1], Reply(data=b"")],
        [*list(symbols_of(CONTENT))[:1], Reply(data=b"no zstd frame")],
        [*symbols_of(CONTENT), Reply(data=b"more")],
        [Reply()] * 101,
        end_with(sha256=b"1" * 32),
        end_with(bytes=7),
        end_with(raw_bytes=7),
    ],
)
def test_what_breaks_the_order_or_the_sums_is_garbled(replies):
    with pytest.raises(MalformedReply):
        read(replies)


def test_messages_newer_than_this_program_are_passed_over():
    first, *rest = symbols_of(CONTENT)
    assert read([first, Reply(), *rest])[1] == CONTENT


def test_more_than_was_announced_is_not_unpacked():
    with pytest.raises(MalformedReply):
        read(symbols_of(CONTENT), limit=len(CONTENT) - 1)
    begin, *rest = symbols_of(CONTENT)
    begin.begin.raw_bytes = 10
    with pytest.raises(MalformedReply):
        read([begin, *rest], limit=len(CONTENT) - 1)


def test_a_bomb_goes_off_in_small_pieces():
    blob = zstandard.compress(bytes(1 << 28))
    reader = SymbolsReader(limit=1 << 20)
    list(reader.take(Reply(begin=gateway_pb2.SymbolsBegin(raw_bytes=1))))
    pieces = []
    with pytest.raises(MalformedReply):
        pieces.extend(len(piece) for piece in reader.take(Reply(data=blob)))
    assert sum(pieces) <= 1 << 20


def test_a_bomb_of_the_shortest_blocks_goes_off_in_small_pieces():
    block = ((128 << 10) << 3 | 1 << 1).to_bytes(3, "little") + b"\0"  # four bytes for 128 KiB
    blob = b"\x28\xb5\x2f\xfd" + b"\0\x38" + block * 1024  # a window of 128 KiB
    reader = SymbolsReader(limit=1 << 30)
    list(reader.take(Reply(begin=gateway_pb2.SymbolsBegin(raw_bytes=1))))
    pieces = [len(piece) for piece in reader.take(Reply(data=blob))]
    assert sum(pieces) == 128 << 20
    assert max(pieces) <= 32 << 20


@given(st.lists(st.sampled_from(list(symbols_of(b"abc" * 100))), max_size=6))
def test_only_the_right_order_is_complete(replies):
    try:
        reader, content = read(replies)
    except MalformedReply:
        return
    assert not reader.is_complete or content == b"abc" * 100
