import hashlib
from collections import Counter
from itertools import accumulate

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from fleetpb import capture_pb2
from gateway.capture.packer import EXACT, KERNEL, UNKNOWN, FrameKey, GroupKey, Image, Packed, Packer
from gateway.process.identity import Identity
from storage.ingest.decode_capture import decode_capture

LIBC = Image(capture_pb2.Mapping.FILE, "/lib/libc.so.6", b"\xaa" * 20)
TOOL = Image(capture_pb2.Mapping.FILE, "/usr/bin/tool", b"", "sha256:00", deleted=True)
COMPLETE = capture_pb2.STACK_END_COMPLETE


def identity(comm: str, **known: object) -> Identity:
    fields = {"exe": "", "script": "", "cgroup": "", "container": "", "unit": "", "kernel_thread": False}
    return Identity(comm, **(fields | known))


def unpack(packed: Packed) -> capture_pb2.Capture:
    raw = zstandard.ZstdDecompressor().decompress(packed.data)
    assert len(raw) == packed.raw_bytes
    assert hashlib.sha256(packed.data).digest() == packed.sha256
    return capture_pb2.Capture.FromString(raw)


def stacks(capture: capture_pb2.Capture) -> list[tuple[tuple[int, ...], int]]:
    ends = list(accumulate(capture.stacks.length, initial=0))
    frames = capture.stacks.frames
    assert ends[-1] == len(frames)
    return [
        (tuple(frames[start:end]), how)
        for start, end, how in zip(ends, ends[1:], capture.stacks.end, strict=False)
    ]


Counted = Counter[tuple[int, str, tuple[tuple[str, int, int, int], ...], int]]


def counted(capture: capture_pb2.Capture) -> Counted:
    """(segment, comm, places leaf first, end) → samples: what a reader makes of a capture."""
    text, table = capture.strings, capture.frames
    places = [
        (text[capture.mappings[mapping].path], offset, into, flags)
        for mapping, offset, into, flags in zip(
            table.mapping, table.offset, table.into_function, table.flags, strict=True
        )
    ]
    found = Counter()
    known = stacks(capture)
    for number, segment in enumerate(capture.segments):
        for profile in segment.profiles:
            group = text[capture.groups[profile.group].comm]
            indexes = list(accumulate(profile.stack_delta))
            assert indexes == sorted(set(indexes))
            for index, count in zip(indexes, profile.count, strict=True):
                frames, end = known[index]
                found[number, group, tuple(places[frame] for frame in frames), end] += count
    return found


def test_a_capture_says_what_was_counted():
    packer = Packer()
    libc, tool = packer.image(LIBC), packer.image(TOOL)
    main = packer.frame(FrameKey(tool, 0x1234, 5, 0))
    read = packer.frame(FrameKey(libc, 0x100, 1, EXACT))
    group = packer.group(GroupKey(identity("tool", exe="/usr/bin/tool", unit="a.service"), 1 + tool), 7)
    assert (
        packer.group(GroupKey(identity("tool", exe="/usr/bin/tool", unit="a.service"), 1 + tool), 8) == group
    )
    message = capture_pb2.Segment(event=packer.text("cpu"), period=10, stacks=True)
    segment = packer.segment(message)
    segment.counts[group, packer.stack((read, main), COMPLETE)] += 3
    segment.counts[group, packer.stack((main,), COMPLETE)] += 1

    packed = packer.pack(capture_pb2.Capture(visit_id=bytes(16)))
    capture = unpack(packed)

    assert packed.samples == capture.segments[0].samples == 4
    assert capture.format == 1
    assert capture.strings[0] == ""
    assert counted(capture) == {
        (0, "tool", (("/lib/libc.so.6", 0x100, 1, EXACT), ("/usr/bin/tool", 0x1234, 5, 0)), COMPLETE): 3,
        (0, "tool", (("/usr/bin/tool", 0x1234, 5, 0),), COMPLETE): 1,
    }
    (only,) = capture.groups
    assert only.processes == 2
    assert capture.strings[only.unit] == "a.service"
    mapping = capture.mappings[only.main_mapping - 1]
    assert (capture.strings[mapping.path], capture.strings[mapping.content_key]) == (
        "/usr/bin/tool",
        "sha256:00",
    )
    assert mapping.deleted
    assert not mapping.build_id


def test_names_of_run_time_code_go_to_the_groups_that_hit_it():
    packer = Packer()
    image = packer.image(Image(capture_pb2.Mapping.ANONYMOUS, "[kernel]"))
    plain = packer.frame(FrameKey(image, 0, 0, KERNEL))
    named = packer.frame(FrameKey(image, 0, 0, KERNEL | EXACT, "bpf_prog_1"))
    other = packer.frame(FrameKey(image, 0, 0, KERNEL | EXACT, "bpf_prog_2"))
    assert len({plain, named, other}) == 3
    groups = [packer.group(GroupKey(identity(name), 0), pid) for pid, name in enumerate("abc")]
    segment = packer.segment(capture_pb2.Segment())
    segment.counts[groups[0], packer.stack((named, plain), COMPLETE)] += 1
    segment.counts[groups[1], packer.stack((plain,), COMPLETE)] += 1
    segment.counts[groups[2], packer.stack((other, named), COMPLETE)] += 1

    capture = unpack(packer.pack(capture_pb2.Capture()))

    names = {
        (capture.strings[capture.groups[excerpt.group].comm], capture.strings[name])
        for excerpt in capture.excerpts
        for frame, name in zip(excerpt.frame, excerpt.name, strict=True)
        if capture.frames.flags[frame] & EXACT
    }
    assert names == {("a", "bpf_prog_1"), ("c", "bpf_prog_1"), ("c", "bpf_prog_2")}
    assert {capture.strings[excerpt.source] for excerpt in capture.excerpts} == {"kallsyms"}


def test_source_level_frames_have_file_and_line():
    packer = Packer()
    group = packer.group(GroupKey(Identity("a", "", "", "", "", "", kernel_thread=False), 0), 1)
    image = packer.image(Image(capture_pb2.Mapping.ANONYMOUS, "[python]"))
    jit = packer.image(Image(capture_pb2.Mapping.ANONYMOUS, ""))
    lines = [packer.frame(FrameKey(image, 0, 0, EXACT, "C.f", "/srv/c.py", line, 3)) for line in (4, 5)]
    other = packer.frame(FrameKey(jit, 0, 0, EXACT, "JS:f a.js:1:2"))
    segment = packer.segment(capture_pb2.Segment())
    segment.counts[group, packer.stack((*lines, other), COMPLETE)] += 1

    capture = unpack(packer.pack(capture_pb2.Capture()))

    strings = capture.strings
    by_source = {strings[excerpt.source]: excerpt for excerpt in capture.excerpts}
    assert set(by_source) == {"python", "perf-map"}
    python = by_source["python"]
    assert [strings[name] for name in python.name] == ["C.f", "C.f"]
    assert [strings[file] for file in python.file] == ["/srv/c.py"] * 2
    assert sorted(python.line) == [4, 5]
    assert list(python.first_line) == [3, 3]
    assert not by_source["perf-map"].file


def test_a_segment_that_could_not_be_sampled_has_no_profiles():
    packer = Packer()
    packer.segment(capture_pb2.Segment(support=capture_pb2.SUPPORT_UNSUPPORTED, errno=2))
    packed = packer.pack(capture_pb2.Capture())
    (segment,) = unpack(packed).segments
    assert packed.samples == 0
    assert (segment.support, segment.errno, len(segment.profiles)) == (capture_pb2.SUPPORT_UNSUPPORTED, 2, 0)


def test_a_function_longer_than_the_column_holds_is_no_function():
    """A damaged unwind table must not cost the machine its captures."""
    packer = Packer()
    segment = packer.segment(capture_pb2.Segment())
    frame = packer.frame(FrameKey(packer.image(LIBC), 1 << 40, 1 << 32, EXACT))
    group = packer.group(GroupKey(identity("a"), 0), 1)
    segment.counts[group, packer.stack((frame,), COMPLETE)] += 1
    capture = unpack(packer.pack(capture_pb2.Capture()))
    assert list(capture.frames.into_function) == [0]


frames = st.builds(
    FrameKey,
    st.integers(0, 2),
    st.integers(0, 1 << 40),
    st.integers(0, 1 << 20),
    st.integers(0, 7),
)
walks = st.tuples(st.lists(frames, min_size=1, max_size=6), st.integers(1, 8))
samples = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["a", "b", "c"]), walks), max_size=60)


@pytest.mark.slow
@given(samples)
def test_nothing_is_added_lost_or_moved(taken: list[tuple[int, str, tuple[list[FrameKey], int]]]):
    packer = Packer()
    for image in (LIBC, TOOL, UNKNOWN):
        packer.image(image)
    segments = [packer.segment(capture_pb2.Segment()) for _ in range(2)]
    paths = (LIBC.path, TOOL.path, "")
    expected: Counted = Counter()
    for pid, (number, comm, (walk, end)) in enumerate(taken):
        group = packer.group(GroupKey(identity(comm), 0), pid)
        stack = packer.stack(tuple(packer.frame(frame) for frame in walk), end)
        segments[number].counts[group, stack] += 1
        places = tuple(
            (paths[frame.mapping], frame.offset, frame.into_function, frame.flags) for frame in walk
        )
        expected[number, comm, places, end] += 1

    packed = packer.pack(capture_pb2.Capture())
    capture = unpack(packed)

    assert counted(capture) == expected
    assert packed.samples == len(taken) == sum(segment.samples for segment in capture.segments)
    assert len(set(stacks(capture))) == len(capture.stacks.length)
    assert sum(group.processes for group in capture.groups) == len(taken)


def test_whatever_is_packed_can_be_ingested():
    """A path may be longer than the kernel takes in one call, and an unwind table may say anything."""
    packer = Packer()
    deep = [f"/{'d/' * 5000}{name}" for name in ("tool", "other/tool")]
    text = [packer.text(path) for path in (*deep, "x" * 9000, "y" * 8192)]
    for path in deep:
        mapping = packer.image(Image(capture_pb2.Mapping.FILE, path, b"x" * 20))
        for offset, into in ((16, -5), (1 << 63, 1), ((1 << 64) + 1, 1 << 32), (-1, 0)):
            packer.frame(FrameKey(mapping, offset, into, EXACT))
    packer.group(GroupKey(identity("tool", exe=deep[0], cgroup="/g" * 9000), 0), 1)
    capture = decode_capture(packer.pack(capture_pb2.Capture(visit_id=bytes(16))).data)
    first, second, long, longest = (capture.strings[index] for index in text)
    assert first != second
    assert first.startswith("/…")
    assert first.endswith("/tool")
    assert second.endswith("/tool")
    assert long.endswith("/" + "x" * 1000)
    assert longest == "y" * 8192
    assert set(capture.frames.into_function) == {0, 1}
    assert set(capture.frames.offset) == {0, 16}
