"""Decode an archived blob into a capture that is safe to use.

Strategy: nothing in a blob is trusted. Its size is checked before decompression, its claimed size before memory is
allocated, the number of its parts before it is parsed, its format before its fields, and every index before it is
followed. A capture that passes can be ingested without further checks.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import zstandard
from google.protobuf.message import DecodeError

from fleetpb import capture_pb2
from storage.errors import BadCapture
from storage.ingest.counter_rows import is_scale
from storage.ingest.errors import FormatTooNew
from storage.ingest.wire_size import check_size

NEWEST_FORMAT = 1
MAX_BLOB_BYTES = 64 << 20
MAX_RAW_BYTES = 512 << 20
"""A minute at 999 Hz on 512 logical CPUs is under a tenth of this."""
_MAX_STRING = 8192
_MAX_ITEMS = 1 << 20
_MAX_SAMPLES = 1 << 40
MAX_UNITS = 1 << 50
"""Exclusive limit of units of an event in one capture: 13 days of CPU time in nanoseconds, a pebibyte of heap. A minute
of 512 CPUs that retire six instructions a cycle at 5 GHz stays below. The cells of a day sum fourth powers of this
number (`storage.rollup.moments`), and their decoder treats a sum beyond 1e75 as damage. A million such visits sum to
2e66, while without the limit one visit of 2^62 units spoilt its cells permanently."""
MAX_DURATION_NS = 3600 * 10**9
"""Longest segment; visits take seconds. The weight of a class is divided by its observed seconds: a capture that
claimed centuries would reduce all other weights to nothing."""
_MAX_SEGMENTS = 512
_MAX_PACKAGES = 1 << 12
_MAX_EVENTS = 64
"""Distinct events of a capture, twice as many as a gateway samples in a visit. They become rows of `sample_type`, whose
ids have 15 bits and are never reused."""
_NO_MEMORY = "alloc failed"
"""The message of protobuf's parser when a memory limit of the process refuses an allocation."""
_STEP = 1 << 20
_MAX_WINDOW = 32 << 20
"""Bytes of zstd window, which a frame may request whatever its content is."""


def decode_capture(
    blob: bytes, *, max_blob_bytes: int = MAX_BLOB_BYTES, max_raw_bytes: int = MAX_RAW_BYTES
) -> capture_pb2.Capture:
    """Decode the capture in a zstd blob. Raises `BadCapture`, and `FormatTooNew` for a newer format."""
    if len(blob) > max_blob_bytes:
        raise BadCapture(f"The capture has {len(blob)} bytes; {max_blob_bytes} is the limit.")
    capture = capture_pb2.Capture()
    raw = _decompress(blob, max_raw_bytes)
    check_size(raw, capture_pb2.Capture)
    try:
        capture.ParseFromString(raw)  # type: ignore[arg-type]  # of its stubs; any buffer will do
    except DecodeError as error:
        if _NO_MEMORY in str(error):
            raise MemoryError(str(error)) from error  # of this process; the capture may be valid
        raise BadCapture("The capture is not a valid protobuf message.") from error
    if capture.format > NEWEST_FORMAT:
        raise FormatTooNew(capture.format, NEWEST_FORMAT)
    if capture.format < 1:
        raise BadCapture("The message lacks the mark of a capture.")
    _check(capture)
    return capture


def _decompress(blob: bytes, limit: int) -> bytearray:
    try:
        claimed = zstandard.frame_content_size(blob)
        if claimed > limit:
            raise BadCapture(f"The capture would have {claimed} bytes uncompressed; {limit} is the limit.")
        # Read as a stream, in steps. A frame may claim less than it holds, or nothing, and `read` allocates all
        # requested memory at once, which a process near its limit does not have.
        raw = bytearray()
        decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
        with decompressor.stream_reader(blob) as reader:
            while len(raw) <= limit and (piece := reader.read(_STEP)):
                raw += piece
    except zstandard.ZstdError as error:
        raise BadCapture(f"Cannot decompress the capture: {error}.") from error
    if len(raw) > limit or claimed > len(raw):
        raise BadCapture(f"The capture is cut off, or exceeds {limit} bytes uncompressed.")
    return raw


def _check(capture: capture_pb2.Capture) -> None:
    """Require valid indexes, columns of equal length, and positive and bounded counts."""
    _require(len(capture.visit_id) == 16, "visit_id is not 16 bytes")
    strings = capture.strings
    _require(len(strings) > 0 and strings[0] == "", "strings[0] is not empty")
    _require(all(len(s) <= _MAX_STRING for s in strings), "a string is too long")
    for name, items in (("mappings", capture.mappings), ("groups", capture.groups)):
        _require(len(items) <= _MAX_ITEMS, f"too many {name}")
    _require(len(capture.segments) <= _MAX_SEGMENTS, "too many segments")
    _require(len(capture.counters) < 1 << 15, "too many counters")

    texts = _Within(len(strings), "a string index is out of range")
    for mapping in capture.mappings:
        texts.check_few((mapping.path, mapping.content_key))
        _require(len(mapping.build_id) <= 64, "a build-id is too long")
    for group in capture.groups:
        texts.check_few(
            (group.comm, group.exe, group.script, group.cgroup, group.container, group.unit, *group.labels)
        )
        _require(len(group.labels) % 2 == 0, "a label has no value")
        _require(group.main_mapping <= len(capture.mappings), "the index of a main mapping is out of range")

    frames, stacks = capture.frames, capture.stacks
    n = len(frames.mapping)
    _require(
        len(frames.offset) == n == len(frames.into_function) == len(frames.flags),
        "frame columns differ in length",
    )
    _Within(len(capture.mappings), "a frame's mapping is out of range").check(frames.mapping)
    _ints(frames.offset)
    _Within(n, "a frame of a stack is out of range").check(stacks.frames)
    _require(len(stacks.length) == len(stacks.end), "stack columns differ in length")
    _require(int(_ints(stacks.length).sum()) == len(stacks.frames), "stack lengths do not add up")

    units: dict[tuple[str, str], int] = {}
    for segment in capture.segments:
        texts.check_few((segment.event, segment.source, segment.unit, segment.thinned_why))
        sampled = segment.support == capture_pb2.SUPPORT_OK
        _require(sampled or not segment.profiles, "there are samples of an event that was not sampled")
        _require(not segment.profiles or segment.period > 0, "samples have no period")
        total = _samples(segment.profiles, len(capture.groups), len(stacks.length))
        _require(total == segment.samples, "a segment's samples do not add up")
        _require(segment.duration_ns <= MAX_DURATION_NS, "a segment lasts longer than an hour")
        event = strings[segment.event], strings[segment.unit]
        units[event] = units.get(event, 0) + total * segment.period
    _require(len(units) <= _MAX_EVENTS, "too many events")
    _require(max(units.values(), default=0) < MAX_UNITS, "an event's number of units is implausible")

    for reading in capture.counters:
        _require(reading.group <= len(capture.groups), "a counter's group is out of range")
        _require(reading.package <= _MAX_PACKAGES, "a counter's socket number is implausible")
        texts.check_few((reading.cgroup,))
        for counter in reading.counters:
            texts.check_few((counter.name, counter.unit, counter.source))
            _require(is_scale(counter.scale), "a counter's scale is implausible")
        names = [counter.name for counter in reading.counters]
        _require(len(set(names)) == len(names), "a counter was read twice in one group")
    for excerpt in capture.excerpts:
        _require(excerpt.group < len(capture.groups), "an excerpt's group is out of range")
        _require(len(excerpt.frame) == len(excerpt.name), "excerpt columns differ in length")
        _Within(n, "a frame of an excerpt is out of range").check(excerpt.frame)
        texts.check_few((*excerpt.name, *excerpt.file, excerpt.source))
        for column in (excerpt.file, excerpt.line, excerpt.first_line):
            _require(len(column) in {0, len(excerpt.frame)}, "excerpt columns differ in length")
        lines = max((*excerpt.line, *excerpt.first_line), default=0)
        _require(lines < 1 << 31, "a line of an excerpt is implausible")
    cpus = [usage.cpu for usage in capture.cpus]
    _require(max(cpus, default=0) < _MAX_ITEMS, "a CPU number is implausible")
    _require(len(set(cpus)) == len(cpus), "a CPU is listed twice")


def _samples(profiles: Sequence[capture_pb2.GroupProfile], groups: int, stacks: int) -> int:
    """The samples of a segment's profiles, checked together, because a capture has a hundred short ones."""
    _require(all(profile.group < groups for profile in profiles), "a profile's group is out of range")
    sizes = [len(profile.count) for profile in profiles]
    _require(sizes == [len(profile.stack_delta) for profile in profiles], "profile columns differ in length")
    filled = [profile for profile, size in zip(profiles, sizes, strict=True) if size]
    if not filled:
        return 0
    # protobuf converts to a numpy array a hundred times faster than number by number.
    delta = np.concatenate([np.array(profile.stack_delta, np.uint64) for profile in filled])
    count = np.concatenate([np.array(profile.count, np.uint64) for profile in filled])
    _require(int(delta.max()) < stacks, "a profile's stack is out of range")
    lengths = np.array([size for size in sizes if size])
    first = np.cumsum(lengths) - lengths
    _require(int(np.add.reduceat(delta, first).max()) < stacks, "a profile's stack is out of range")
    ascends = delta > 0
    ascends[first] = True
    _require(bool(ascends.all()), "a profile's stacks do not ascend")
    _require(int(count.min()) > 0 and int(count.max()) <= _MAX_SAMPLES, "a count is 0 or implausible")
    # Hundreds of millions of counts may be absurd in sum; an integer sum would overflow to a small number.
    _require(float(count.sum(dtype=np.float64)) < MAX_UNITS, "a segment's number of samples is implausible")
    return int(count.sum())


class _Within:
    """Checks that indexes are in 0 ≤ i < size."""

    def __init__(self, size: int, what: str) -> None:
        self._size = size
        self._what = what

    def check(self, indexes: Sequence[int]) -> None:
        largest = int(np.array(indexes, np.uint64).max()) if len(indexes) else -1
        _require(largest < self._size, f"{self._what} is out of range")

    def check_few(self, indexes: Iterable[int]) -> None:
        _require(max(indexes, default=-1) < self._size, f"{self._what} is out of range")


def _ints(values: Sequence[int]) -> npt.NDArray[np.int64]:
    """The numbers as an array; rejects those beyond 63 bits."""
    # protobuf converts to a numpy array a hundred times faster than number by number.
    numbers = np.array(values, np.uint64)
    _require(not len(numbers) or int(numbers.max()) < 1 << 63, "a number exceeds 63 bits")
    return numbers.astype(np.int64)


def _require(condition: bool, why: str) -> None:
    if not condition:
        raise BadCapture(f"The capture is inconsistent: {why}.")
