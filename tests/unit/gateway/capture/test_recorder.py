"""GIVEN records of processes that are gone WHEN they are counted THEN they are who their records say."""

import ctypes
import mmap
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from fleetpb import capture_pb2
from gateway.capture.packer import Packer
from gateway.capture.recorder import Recorder
from gateway.machine.kernel_map import KernelMap
from gateway.perf.records import Exited, Forked, Lost, Mapped, Mode, Record, Renamed, Sample
from gateway.process.identity import Identity, read_identity
from gateway.process.images import Images
from gateway.process.maps import Vma, read_executable_maps
from gateway.process.walker import Walker

# Above every pid_max, so that /proc knows nothing of them.
GONE, ALSO_GONE = 1 << 23, (1 << 23) + 1
US = os.getpid()
PROGRAM = Path("/proc/self/exe").resolve()


def sample(pid: int, ip: int, *, mode: Mode = Mode.USER) -> Sample:
    nothing = memoryview(b"").cast("Q")
    return Sample(pid, pid, 0, mode, ip, (ip,) if mode == Mode.KERNEL else (), (), False, nothing, 0)


def mapped(pid: int, path: str, start: int = 0x10000) -> Mapped:
    return Mapped(pid, 0, start, start + 0x1000, 0, (0, 0), 0, path, False)


def record(*records: Record) -> tuple[capture_pb2.Capture, list[tuple[Identity, str, int]]]:
    """The capture, and for each sample of it: who, in which image, how many."""
    packer, images = Packer(), Images()
    walker = Walker(images)
    kernel = KernelMap((), ())
    recorder = Recorder(packer, images, walker, lambda: kernel, kernel_build_id=b"", max_depth=127)
    segment = packer.segment(capture_pb2.Segment(stacks=False))
    consume = recorder.consumer(segment)
    for each in records:
        consume(each)
    recorder.count_early()
    raw = zstandard.ZstdDecompressor().decompress(packer.pack(capture_pb2.Capture()).data)
    capture = capture_pb2.Capture.FromString(raw)
    images.close_files()
    text = capture.strings
    found = []
    for profile in capture.segments[0].profiles:
        group = capture.groups[profile.group]
        who = Identity(
            *(
                text[getattr(group, name)]
                for name in ("comm", "exe", "script", "cgroup", "container", "unit")
            ),
            kernel_thread=group.kernel_thread,
        )
        stack = 0
        for delta, count in zip(profile.stack_delta, profile.count, strict=True):
            stack += delta
            frame = capture.stacks.frames[stack]  # flat: one frame each
            found.append((who, text[capture.mappings[capture.frames.mapping[frame]].path], count))
    return capture, found


@pytest.fixture(scope="module")
def code() -> Vma:
    """A mapping of our own with a file behind it."""
    return next(vma for vma in read_executable_maps(US) if vma.has_file)


def test_a_live_process_is_looked_at(code: Vma):
    _, found = record(sample(US, code.start), sample(US, code.start))
    assert found == [(read_identity(US), code.path, 2)]


def test_a_child_that_is_gone_ran_its_parents_program(code: Vma):
    """The parent was never sampled: it waited."""
    _, found = record(Forked(GONE, US, GONE, 0), sample(GONE, code.start))
    assert found == [(read_identity(US), code.path, 1)]


def test_a_grandchild_too_if_its_parent_was_sampled(code: Vma):
    _, found = record(
        Forked(GONE, US, GONE, 0),
        sample(GONE, code.start),
        Forked(ALSO_GONE, GONE, ALSO_GONE, 0),
        sample(ALSO_GONE, code.start),
    )
    assert found == [(read_identity(US), code.path, 2)]


@pytest.mark.parametrize("parent_sampled", [False, True])
def test_a_program_that_is_gone_has_its_name_path_and_its_parents_control_group(
    code: Vma, parent_sampled: bool
):
    before = [sample(US, code.start)] if parent_sampled else []
    _, found = record(
        *before,
        Forked(GONE, US, GONE, 0),
        Renamed(GONE, GONE, 0, "blink", executed=True),
        mapped(GONE, "/opt/blink"),
        mapped(GONE, "/lib/ld.so", 0x20000),
        sample(GONE, 0x10010),
    )
    us = read_identity(US)
    expected = Identity("blink", "/opt/blink", "", us.cgroup, us.container, us.unit, kernel_thread=False)
    assert found[-1] == (expected, "/opt/blink", 1)
    assert len(found) == 1 + parent_sampled


@pytest.mark.parametrize("gone", [False, True])
def test_a_sample_before_the_first_mapping_of_a_program_is_in_its_group(sleeper: int, gone: bool):
    """The kernel reports an exec before it maps the file; a group made there had no executable mapping."""
    pid, now = (GONE, None) if gone else (sleeper, read_identity(sleeper))
    path = "/opt/sleep" if now is None else now.exe
    capture, found = record(
        Forked(pid, US, pid, 0),
        Renamed(pid, pid, 0, "sleep", executed=True),
        sample(pid, 0x10, mode=Mode.KERNEL),
        mapped(pid, path),
        sample(pid, 0x10010),
    )
    assert {(who.comm, who.exe) for who, *_ in found} == {("sleep", path)}
    assert sum(count for *_, count in found) == 2
    (group,) = capture.groups
    assert group.main_mapping
    assert capture.strings[capture.mappings[group.main_mapping - 1].path] == path


def test_a_program_that_ends_before_it_is_mapped_keeps_its_samples():
    _, found = record(
        Forked(GONE, US, GONE, 0),
        Renamed(GONE, GONE, 0, "blink", executed=True),
        sample(GONE, 0x10, mode=Mode.KERNEL),
        Exited(GONE, GONE, 0),
        Forked(ALSO_GONE, US, ALSO_GONE, 0),
        Renamed(ALSO_GONE, ALSO_GONE, 0, "wink", executed=True),
        sample(ALSO_GONE, 0x10, mode=Mode.KERNEL),
    )
    assert sorted((who.comm, count) for who, _, count in found) == [("blink", 1), ("wink", 1)]


def test_a_program_forgets_what_was_mapped_before_it_was_started(code: Vma):
    _, found = record(
        Forked(GONE, US, GONE, 0),
        sample(GONE, code.start),
        Renamed(GONE, GONE, 0, "blink", executed=True),
        sample(GONE, code.start),
    )
    assert [path for _, path, _ in found] == [code.path, ""]


@pytest.fixture
def sleeper() -> Iterator[int]:
    """A process of ours that has become another program, whatever records are still to come."""
    with subprocess.Popen(["sleep", "60"]) as process:
        while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\n":
            time.sleep(0.001)
        yield process.pid
        process.kill()


@pytest.mark.parametrize("parent_sampled", [False, True])
def test_before_it_became_another_program_a_child_ran_its_parents(
    code: Vma, sleeper: int, parent_sampled: bool
):
    """Its samples are read when it has: /proc tells of the other program only."""
    us = read_identity(US)
    now = read_identity(sleeper)
    before = [sample(US, code.start)] if parent_sampled else []
    _, found = record(
        *before,
        Forked(sleeper, US, sleeper, 0),
        sample(sleeper, code.start),
        Renamed(sleeper, sleeper, 0, "sleep", executed=True),
        mapped(sleeper, now.exe),
        sample(sleeper, 0x10010),
    )
    assert set(found) == {(us, code.path, 1 + parent_sampled), (now, now.exe, 1)}


def test_a_child_that_nobody_has_waited_for_ran_its_parents_program(code: Vma):
    """It is still in /proc, without a mapping."""
    child = os.fork()
    if not child:
        os._exit(0)
    try:
        while ") Z " not in Path(f"/proc/{child}/stat").read_text():
            time.sleep(0.001)
        _, found = record(Forked(child, US, child, 0), sample(child, code.start))
        assert [(who.exe, path) for who, path, _ in found] == [(read_identity(US).exe, code.path)]
    finally:
        os.waitpid(child, 0)


def test_where_records_were_lost_a_child_is_what_it_is_now(code: Vma, sleeper: int):
    _, found = record(
        sample(US, code.start), Forked(sleeper, US, sleeper, 0), Lost(1), sample(sleeper, 0x10010)
    )
    assert [who for who, *_ in found] == [read_identity(US), read_identity(sleeper)]


def test_a_child_that_runs_on_is_looked_at_itself(tmp_path: Path):
    """What it has mapped since it was started, its parent has not."""
    library = tmp_path / "late.so"
    library.write_bytes(bytes(mmap.PAGESIZE))
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with library.open("rb") as file:
            late = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
            os.write(writing, b"x")
            time.sleep(60)
            late.close()
            os._exit(0)
    try:
        os.read(reading, 1)
        vma = next(vma for vma in read_executable_maps(child) if vma.path == str(library))
        _, found = record(Forked(child, US, child, 0), sample(child, vma.start))
        assert [(who.exe, path) for who, path, _ in found] == [(read_identity(US).exe, str(library))]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reading)
        os.close(writing)


def test_a_name_alone_is_no_new_program(code: Vma):
    _, found = record(
        Forked(GONE, US, GONE, 0),
        sample(GONE, code.start),
        Renamed(GONE, GONE, 0, "worker-1", executed=False),
        sample(GONE, code.start),
    )
    assert found == [(read_identity(US), code.path, 2)]


def test_a_new_thread_changes_nothing(code: Vma):
    _, found = record(
        sample(US, code.start),
        Forked(US, US, US + 1, 0),
        Exited(US, US + 1, 0),
        sample(US, code.start),
    )
    assert found == [(read_identity(US), code.path, 2)]


def test_a_number_that_is_given_again_is_another_process(code: Vma):
    _, found = record(
        Forked(GONE, US, GONE, 0),
        Renamed(GONE, GONE, 0, "first", executed=True),
        mapped(GONE, "/opt/first"),
        sample(GONE, 0x10010),
        Exited(GONE, GONE, 0),
        Forked(GONE, US, GONE, 0),
        sample(GONE, code.start),
    )
    assert [(who.comm, path) for who, path, _ in found] == [
        ("first", "/opt/first"),
        (read_identity(US).comm, code.path),
    ]


@pytest.fixture
def made() -> Iterator[tuple[int, Path]]:
    """Memory of our own that may be executed, and our perf map."""
    place = Path(f"/tmp/perf-{US}.map")
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as memory:
        mapped_byte = ctypes.c_byte.from_buffer(memory)
        yield ctypes.addressof(mapped_byte), place
        del mapped_byte
    place.unlink(missing_ok=True)


def test_code_without_a_file_has_the_name_that_its_map_gave_it_then(made: tuple[int, Path]):
    address, place = made
    packer, images = Packer(), Images()
    recorder = Recorder(
        packer, images, Walker(images), lambda: KernelMap((), ()), kernel_build_id=b"", max_depth=127
    )
    segment = packer.segment(capture_pb2.Segment(stacks=False))
    texts = ["", f"{address:x} 40 first\n", f"{address:x} 40 second\n{address + 0x40:x} 40 third\n"]
    for text in texts:
        with place.open("a") as file:
            file.write(text)
        consume = recorder.consumer(segment)
        consume(sample(US, address + 8))
        consume(sample(US, address + 16))
    consume(sample(US, address + 0x48))
    recorder.close()
    capture = capture_pb2.Capture.FromString(
        zstandard.ZstdDecompressor().decompress(packer.pack(capture_pb2.Capture()).data)
    )
    (excerpt,) = capture.excerpts
    assert capture.strings[excerpt.source] == "perf-map"
    names = {frame: capture.strings[name] for frame, name in zip(excerpt.frame, excerpt.name, strict=True)}
    counted: Counter[str] = Counter()
    stack = 0
    for delta, count in zip(
        capture.segments[0].profiles[0].stack_delta, capture.segments[0].profiles[0].count, strict=True
    ):
        stack += delta
        counted[names.get(capture.stacks.frames[stack], "")] += count
    # Addresses are no part of it: the two of each function are one frame.
    assert counted == {"": 2, "first": 2, "second": 2, "third": 1}
    assert set(capture.frames.offset) == {0}
    assert {capture.mappings[index].kind for index in capture.frames.mapping} == {
        capture_pb2.Mapping.ANONYMOUS
    }


def test_code_in_a_file_that_is_memory_only_is_made_code(made: tuple[int, Path]):
    """.NET maps what it compiles from a memfd, to write it at another address."""
    _, place = made
    descriptor = os.memfd_create("doublemapper")
    os.truncate(descriptor, mmap.PAGESIZE)
    with mmap.mmap(
        descriptor, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
    ) as memory:
        os.close(descriptor)
        mapped_byte = ctypes.c_byte.from_buffer(memory)
        address = ctypes.addressof(mapped_byte)
        del mapped_byte
        place.write_text(f"{address:x} 40 void [app] Shape::Area()[Tier1]\n")
        capture, found = record(sample(US, address + 8))
    assert [path for _, path, _ in found] == ["/memfd:doublemapper"]
    (frame_mapping,) = capture.frames.mapping
    assert capture.mappings[frame_mapping].kind == capture_pb2.Mapping.ANONYMOUS
    assert capture.strings[capture.excerpts[0].name[0]] == "void [app] Shape::Area()[Tier1]"


def test_a_process_of_which_nothing_is_known_is_counted_all_the_same():
    capture, found = record(sample(GONE, 0x1234))
    assert found == [(Identity("", "", "", "", "", "", kernel_thread=False), "", 1)]
    assert [mapping.kind for mapping in capture.mappings] == [capture_pb2.Mapping.UNKNOWN]


def test_the_idle_task_is_a_kernel_thread_without_a_program():
    capture, found = record(sample(0, 0xFFFFFFFF81000000, mode=Mode.KERNEL))
    assert found == [(Identity("swapper", "", "", "", "", "", kernel_thread=True), "", 1)]
    assert capture.frames.flags == [3]


def test_the_executable_of_a_group_is_one_of_its_mappings(code: Vma):
    capture, _ = record(sample(US, code.start))
    (group,) = capture.groups
    main = capture.mappings[group.main_mapping - 1]
    assert Path(capture.strings[main.path]).resolve() == PROGRAM
