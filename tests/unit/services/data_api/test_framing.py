"""GIVEN records WHEN they are framed THEN a reader that gets them in pieces finds the same ones."""

import json

import pytest
from google.protobuf.internal.decoder import _DecodeVarint
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import data_pb2
from services.client.delimited import messages
from services.data_api.framing import Framing, varint


@given(st.integers(0, (1 << 64) - 1))
def test_varints_are_protobufs(number: int):
    assert _DecodeVarint(varint(number), 0) == (number, len(varint(number)))


@given(st.lists(st.text(max_size=300), max_size=6), st.integers(1, 50))
def test_pieces_do_not_matter(cursors: list[str], size: int):
    records = [data_pb2.ProfileRecord(cursor=cursor) for cursor in cursors]
    data = b"".join(Framing.PROTOBUF.framed(record) for record in records)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [data_pb2.ProfileRecord.FromString(found) for found in messages(pieces)] == records


@given(st.binary(min_size=1, max_size=40))
def test_what_is_cut_short_is_no_end(data: bytes):
    framed = varint(len(data)) + data
    for length in range(1, len(framed)):
        with pytest.raises(EOFError):
            list(messages([framed[:length]]))


def test_a_length_that_does_not_end_is_refused():
    with pytest.raises(EOFError, match="more than 10 bytes"):
        list(messages([b"\xff" * 20]))


def test_a_line_is_a_record():
    record = data_pb2.ProfileRecord(cursor="a\nb", progress=data_pb2.StreamProgress(done=True))
    line = Framing.NDJSON.framed(record)
    assert (line.count(b"\n"), json.loads(line)) == (1, {"cursor": "a\nb", "progress": {"done": True}})
