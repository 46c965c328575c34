"""GIVEN messages of any making WHEN they are looked at before they are parsed THEN those that would swell are refused."""

import subprocess
import sys
from uuid import UUID

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetpb import capture_pb2
from storage.errors import BadCapture
from storage.ingest import wire_size
from storage.ingest.decode_capture import decode_capture
from storage.ingest.wire_size import check_size
from tests.synthetic_captures import random_capture

CAPTURE = capture_pb2.Capture


def made() -> capture_pb2.Capture:
    return random_capture(UUID(int=1), 1)[0]


def tag(message, field: str) -> bytes:
    return _varint(message.DESCRIPTOR.fields_by_name[field].number << 3 | 2)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def within(message, field: str, content: bytes) -> bytes:
    return tag(message, field) + _varint(len(content)) + content


PARTS = wire_size.MOST_PARTS + wire_size.MOST_PARTS // 10
BOMBS = {
    "mappings": lambda: (tag(capture_pb2.Capture, "mappings") + b"\0") * PARTS,
    "texts": lambda: (tag(capture_pb2.Capture, "strings") + b"\0") * PARTS,
    "what nobody knows": lambda: b"\xf8\x07\x01" * PARTS,
    "profiles of a segment": lambda: within(
        capture_pb2.Capture, "segments", (tag(capture_pb2.Segment, "profiles") + b"\0") * PARTS
    ),
    "numbers": lambda: within(
        capture_pb2.Capture,
        "stacks",
        within(capture_pb2.StackTable, "length", bytes(wire_size.MOST_NUMBERS + 1)),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_what_would_swell_is_refused_with_a_reason(bomb):
    blob = zstandard.compress(bomb())
    assert len(blob) < 64 << 10, "that is what makes it a bomb"
    with pytest.raises(BadCapture, match="no real machine's capture"):
        decode_capture(blob)


@pytest.mark.slow
def test_a_bomb_takes_no_gigabytes():
    """In a process of its own, which has little more memory than the bytes themselves need."""
    program = f"""
import resource, sys, zstandard
from storage.errors import BadCapture
from storage.ingest.decode_capture import decode_capture
blob = zstandard.compress(b"\\x3a\\x00" * (100 << 20))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decode_capture(blob)
except BadCapture:
    sys.exit(0 if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < {700 << 10} else 3)
sys.exit(4)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=120, check=False)
    assert done.returncode == 0


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_size, "SMALL_BYTES", 0)


def test_what_machines_bring_passes(small: None):
    message = made()
    check_size(message.SerializeToString(), CAPTURE)


def test_every_part_counts_once(small: None, monkeypatch: pytest.MonkeyPatch):
    message = capture_pb2.Capture(strings=["", "a", "b"], format=1)
    message.mappings.add(path=1, build_id=b"x")
    message.stacks.length.extend([1, 300, 70_000])
    raw = message.SerializeToString()
    parts = 3 + 1 + 1 + 2 + 1 + 1  # texts, format, a mapping and its fields, stacks and their column
    monkeypatch.setattr(wire_size, "MOST_PARTS", parts)
    monkeypatch.setattr(wire_size, "MOST_NUMBERS", 3)
    check_size(raw, CAPTURE)
    monkeypatch.setattr(wire_size, "MOST_NUMBERS", 2)
    with pytest.raises(BadCapture, match="numbers"):
        check_size(raw, CAPTURE)
    monkeypatch.setattr(wire_size, "MOST_NUMBERS", 3)
    monkeypatch.setattr(wire_size, "MOST_PARTS", parts - 1)
    with pytest.raises(BadCapture, match="parts"):
        check_size(raw, CAPTURE)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_are_too_strange(raw: bytes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire_size, "SMALL_BYTES", 0)
        check_size(raw, CAPTURE)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_captures_are_walked_to_some_end(data: st.DataObject):
    raw = bytearray(made().SerializeToString())
    for _ in range(data.draw(st.integers(1, 5))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire_size, "SMALL_BYTES", 0)
        check_size(bytes(raw), CAPTURE)
