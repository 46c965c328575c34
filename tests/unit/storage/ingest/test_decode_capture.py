"""Archived blobs are not believed: sizes, claims and every index are checked."""

from collections.abc import Callable
from contextlib import suppress
from uuid import UUID

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetpb import capture_pb2
from storage.errors import BadCapture
from storage.ingest.decode_capture import MAX_UNITS, decode_capture
from storage.ingest.errors import FormatTooNew
from storage.rollup import moments_codec
from tests.synthetic_captures import random_capture

VISIT = UUID(int=7)


def capture() -> capture_pb2.Capture:
    message, _ = random_capture(VISIT, 1)
    message.cpus.add(cpu=0)
    message.cpus.add(cpu=1)
    message.counters.add(cpu=0).counters.add(name=1, support=capture_pb2.SUPPORT_OK, value=3)
    message.excerpts.add(group=0, frame=[0], name=[1])
    return message


def packed(message: capture_pb2.Capture) -> bytes:
    return zstandard.compress(message.SerializeToString())


def test_a_capture_survives() -> None:
    assert decode_capture(packed(capture())) == capture()


def test_a_capture_of_an_idle_machine_is_a_capture() -> None:
    decode_capture(packed(capture_pb2.Capture(format=1, visit_id=VISIT.bytes, strings=[""])))


def test_a_newer_format_says_so() -> None:
    message = capture()
    message.format = 2
    with pytest.raises(FormatTooNew, match="format 2; 1 is the newest format"):
        decode_capture(packed(message))


@pytest.mark.parametrize("blob", [b"", b"hello", b"\x28\xb5\x2f\xfd", zstandard.compress(b"\xff\xff\xff")])
def test_other_bytes_are_no_capture(blob: bytes) -> None:
    with pytest.raises(BadCapture):
        decode_capture(blob)


def test_a_large_blob_is_refused_before_it_is_touched() -> None:
    with pytest.raises(BadCapture, match="1001 bytes; 1000 is the limit"):
        decode_capture(b"x" * 1001, max_blob_bytes=1000)


def test_a_bomb_that_says_its_size_is_refused_by_it() -> None:
    with pytest.raises(BadCapture, match="would have 10000000 bytes"):
        decode_capture(zstandard.compress(bytes(10_000_000)), max_raw_bytes=1_000_000)


def test_a_bomb_that_hides_its_size_is_stopped_at_the_limit() -> None:
    bomb = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(10_000_000))
    with pytest.raises(BadCapture, match="exceeds 1000000 bytes uncompressed"):
        decode_capture(bomb, max_raw_bytes=1_000_000)


def test_a_blob_cut_short_is_refused() -> None:
    with pytest.raises(BadCapture):
        decode_capture(packed(capture())[:-20])


def test_a_frame_that_asks_for_a_huge_window_is_refused() -> None:
    # Magic, a descriptor without content size, a window of 64 MiB, and an empty last block.
    frame = b"\x28\xb5\x2f\xfd" + bytes([0x00, 16 << 3]) + b"\x01\x00\x00"
    with pytest.raises(BadCapture, match="decompress"):
        decode_capture(frame)


def _too_many_samples(message: capture_pb2.Capture) -> None:
    message.segments[0].profiles[0].count[0] = 1 << 62


def _segments(message: capture_pb2.Capture, number: int, names: int) -> None:
    """So many segments of nothing, of so many events."""
    first = len(message.strings)
    message.strings.extend(f"event {n}" for n in range(names))
    for n in range(number):
        message.segments.add(event=first + n % names, support=capture_pb2.SUPPORT_OK, period=1)


def _units_in_two_segments(message: capture_pb2.Capture, units: int) -> None:
    """Of one event, whose name stands in the table of strings twice."""
    message.strings.extend(["bytes", "bytes"])
    for n, period in enumerate((units // 2, units - units // 2)):
        segment = message.segments.add(
            event=len(message.strings) - 1 - n, support=capture_pb2.SUPPORT_OK, period=period, samples=1
        )
        segment.profiles.add(group=0, stack_delta=[0], count=[1])


CONTRADICTIONS: dict[str, Callable[[capture_pb2.Capture], object]] = {
    "no capture": lambda m: setattr(m, "format", 0),
    "visit_id": lambda m: setattr(m, "visit_id", b"short"),
    "strings": lambda m: m.strings.__setitem__(0, "not empty"),
    "a string too long": lambda m: m.strings.append("x" * 10_000),
    "a mapping's path": lambda m: setattr(m.mappings[0], "path", 10_000),
    "a build-id": lambda m: setattr(m.mappings[0], "build_id", bytes(100)),
    "a group's name": lambda m: setattr(m.groups[0], "comm", 10_000),
    "a label without a value": lambda m: m.groups[0].labels.append(0),
    "a main mapping": lambda m: setattr(m.groups[0], "main_mapping", 99),
    "frame columns": lambda m: m.frames.offset.append(1),
    "a frame's mapping": lambda m: m.frames.mapping.__setitem__(0, 99),
    "a frame's offset": lambda m: m.frames.offset.__setitem__(0, 1 << 63),
    "a stack's frame": lambda m: m.stacks.frames.__setitem__(0, 10_000),
    "stack columns": lambda m: m.stacks.end.append(1),
    "stack lengths": lambda m: m.stacks.length.__setitem__(0, 77),
    "an event's name": lambda m: setattr(m.segments[0], "event", 10_000),
    "samples of what was not sampled": lambda m: setattr(m.segments[0], "support", 3),
    "a period of 0": lambda m: setattr(m.segments[0], "period", 0),
    "an absurd period": lambda m: setattr(m.segments[0], "period", 1 << 62),
    "units of one event in two segments": lambda m: _units_in_two_segments(m, 1 << 50),
    "an absurd duration": lambda m: setattr(m.segments[0], "duration_ns", (1 << 64) - 1),
    "a duration of more than an hour": lambda m: setattr(m.segments[0], "duration_ns", 3600 * 10**9 + 1),
    "a counter's control group": lambda m: setattr(m.counters[0], "cgroup", 10_000),
    "a counter's unit": lambda m: setattr(m.counters[0].counters[0], "unit", 10_000),
    "a counter's source": lambda m: setattr(m.counters[0].counters[0], "source", 10_000),
    "a counter's scale": lambda m: setattr(m.counters[0].counters[0], "scale", float("inf")),
    "a counter's socket": lambda m: setattr(m.counters[0], "package", 1 << 20),
    "too many segments": lambda m: _segments(m, 513 - len(m.segments), 1),
    "too many events": lambda m: _segments(m, 65, 65),
    "a profile's group": lambda m: setattr(m.segments[0].profiles[0], "group", 99),
    "profile columns": lambda m: m.segments[0].profiles[0].count.append(1),
    "a stack twice": lambda m: m.segments[0].profiles[0].stack_delta.__setitem__(1, 0),
    "a profile's stack": lambda m: m.segments[0].profiles[0].stack_delta.__setitem__(0, 10_000),
    "a count of 0": lambda m: m.segments[0].profiles[0].count.__setitem__(0, 0),
    "an absurd count": _too_many_samples,
    "samples that do not add up": lambda m: setattr(m.segments[0], "samples", 1),
    "a counter's group": lambda m: setattr(m.counters[0], "group", 99),
    "a counter's name": lambda m: setattr(m.counters[0].counters[0], "name", 10_000),
    "a counter twice": lambda m: m.counters[0].counters.add(name=1),
    "an excerpt's group": lambda m: setattr(m.excerpts[0], "group", 99),
    "an excerpt's frame": lambda m: m.excerpts[0].frame.__setitem__(0, 10_000),
    "an excerpt's file": lambda m: m.excerpts[0].file.append(10_000),
    "more lines than frames": lambda m: m.excerpts[0].line.extend([1, 2]),
    "an absurd line": lambda m: m.excerpts[0].line.append(1 << 31),
    "excerpt columns": lambda m: m.excerpts[0].frame.append(0),
    "a CPU twice": lambda m: setattr(m.cpus[1], "cpu", 0),
    "an absurd CPU": lambda m: setattr(m.cpus[1], "cpu", 1 << 31),
}


@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_a_capture_that_contradicts_itself_is_refused(what: str) -> None:
    message = capture()
    CONTRADICTIONS[what](message)
    with pytest.raises(BadCapture):
        decode_capture(packed(message))


def test_the_most_that_is_allowed_is_a_capture() -> None:
    message = capture()
    message.segments[0].duration_ns = 3600 * 10**9
    _units_in_two_segments(message, (1 << 50) - 1)
    _segments(
        message, 512 - len(message.segments), 64 - len({(s.event, s.unit) for s in message.segments}) + 1
    )
    decode_capture(packed(message))


def test_the_largest_captures_make_cells_that_can_be_read() -> None:
    """A day's cell of a million visits, each with all that a capture may hold of an event."""
    x = float(MAX_UNITS)
    assert 1e6 * x**4 < moments_codec._LARGEST
    assert MAX_UNITS > 512 * 60 * 10**9 * 6 * 5, "instructions of 512 busy CPUs in a minute"


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_messages_are_refused_or_consistent(data: st.DataObject) -> None:
    raw = bytearray(RAW)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with suppress(BadCapture):
        decode_capture(zstandard.compress(bytes(raw)))


RAW = capture().SerializeToString()
