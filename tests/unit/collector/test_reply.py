"""GIVEN the messages of one call WHEN they are read THEN only what gateway.proto allows passes."""

import hashlib
import re
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.errors import MalformedReply
from collector.reply import MAX_PROGRESS, ReplyReader
from fleetpb.gateway_pb2 import Begin, CaptureReply, End, Progress, Refusal

BEGIN = CaptureReply(begin=Begin(utilisation=0.5))
PROGRESS = CaptureReply(progress=Progress(done=0.5, samples=1))
DATA = CaptureReply(data=b"abc")
END = CaptureReply(end=End(sha256=hashlib.sha256(b"abc").digest(), bytes=3))
REFUSAL = CaptureReply(refusal=Refusal(reason=Refusal.TOO_MANY))
LETTERS = {"b": BEGIN, "p": PROGRESS, "d": DATA, "e": END, "r": REFUSAL}


def read(*replies, limit=1000):
    reader = ReplyReader(limit=limit)
    for reply in replies:
        reader.take(reply)
    return reader


@given(st.binary(min_size=1, max_size=500), st.lists(st.integers(1, 499), max_size=5))
def test_pieces_are_joined(blob, cuts):
    edges = [0, *sorted({cut for cut in cuts if cut < len(blob)}), len(blob)]
    pieces = [CaptureReply(data=blob[a:b]) for a, b in pairwise(edges) if a < b]
    end = CaptureReply(end=End(sha256=hashlib.sha256(blob).digest(), bytes=len(blob)))
    reader = read(BEGIN, PROGRESS, *pieces, end)
    assert reader.finished
    assert reader.blob == blob


@pytest.mark.slow
def test_the_smallest_pieces_take_no_more_than_large_ones():
    reader, piece = read(BEGIN, limit=1 << 20), CaptureReply(data=b"ab")
    tracemalloc.start()
    try:
        for _ in range(200_000):
            reader.take(piece)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1 << 20


@given(st.text(alphabet="bpder", max_size=7))
def test_only_the_order_of_the_protocol_is_accepted(letters):
    reader = ReplyReader()
    grammar = _prefixes_of_the_grammar()
    accepted = ""
    for letter in letters:
        try:
            reader.take(END if letter == "e" and accepted.count("d") == 1 else LETTERS[letter])
        except MalformedReply:
            broken = accepted + letter
            assert not grammar(broken) or (letter == "e" and accepted.count("d") != 1)
            return
        accepted += letter
        assert grammar(accepted)
    assert reader.finished == accepted.endswith(("e", "r"))


def _prefixes_of_the_grammar():
    pattern = re.compile(r"r|b?|bp*d*|bp*d*r|bp*d+e")
    return lambda text: pattern.fullmatch(text) is not None


@pytest.mark.parametrize(
    ("replies", "why"),
    [
        ((BEGIN, DATA, CaptureReply(end=End(sha256=b"\0" * 32, bytes=3))), "SHA-256"),
        ((BEGIN, DATA, CaptureReply(end=End(sha256=END.end.sha256, bytes=4))), "4 bytes sent, but 3 arrived"),
        ((BEGIN, CaptureReply(data=b"")), "empty piece"),
        (
            (BEGIN, CaptureReply(data=b"x" * 600), CaptureReply(data=b"x" * 600)),
            "larger than the limit of 1,000",
        ),
        ((BEGIN, DATA, END, DATA), "'data' when its stream was complete"),
        ((DATA,), "'data' when its stream was open"),
    ],
)
def test_what_breaks_the_rules_is_garbled(replies, why):
    with pytest.raises(MalformedReply, match=why):
        read(*replies)


def test_a_gateway_that_only_talks_is_cut_off():
    reader = read(BEGIN, *[PROGRESS] * (MAX_PROGRESS - 1))
    with pytest.raises(MalformedReply, match="without finishing"):
        reader.take(PROGRESS)


def test_a_message_of_a_newer_protocol_is_passed_over():
    assert read(CaptureReply(), BEGIN, CaptureReply(), DATA, END).finished


def test_there_is_no_blob_before_the_end():
    with pytest.raises(ValueError, match="not ended"):
        _ = read(BEGIN, DATA).blob
