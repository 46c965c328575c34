"""Records as the kernel lays them out (perf_event_open(2)), built here field by field."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.perf.records import (
    FLAT,
    STACKS,
    Exited,
    Forked,
    Lost,
    Mapped,
    Mode,
    Renamed,
    Sample,
    Throttled,
    parse,
    time_of,
    user_ip,
)

PID, TID, TIME = 100, 101, 123_456_789
REGISTERS = tuple(range(1000, 1020))
KERNEL_CONTEXT = (1 << 64) - 128  # PERF_CONTEXT_KERNEL
TYPES = {"lost": 2, "comm": 3, "exit": 4, "throttle": 5, "unthrottle": 6, "fork": 7, "sample": 9, "mmap2": 10}

EVENT = 77


def record(kind: str, body: bytes, misc: int = 0) -> memoryview:
    padded = body + bytes(-len(body) % 8)
    return memoryview(struct.pack("<IHH", TYPES[kind], misc, 8 + len(padded)) + padded)


def with_id(body: bytes) -> bytes:
    """The trailer of sample_id_all for TID, TIME and IDENTIFIER."""
    return body + bytes(-len(body) % 8) + struct.pack("<IIQQ", PID, TID, TIME, EVENT)


def sample(
    *, chain: tuple[int, ...] = (), abi: int = 2, stack: bytes = b"", real: int | None = None, misc: int = 2
) -> memoryview:
    body = struct.pack("<QQIIQ", EVENT, 0xABC, PID, TID, TIME)
    body += struct.pack(f"<Q{len(chain)}Q", len(chain), *chain)
    body += struct.pack("<Q", abi)
    if abi:
        body += struct.pack("<20Q", *REGISTERS)
    body += struct.pack("<Q", len(stack)) + stack
    if stack:
        body += struct.pack("<Q", len(stack) if real is None else real)
    return record("sample", body, misc)


def mmap2(path: bytes, *, protection: int = 5) -> memoryview:
    body = struct.pack("<IIQQQ", PID, TID, 0x7000, 0x2000, 0x1000)
    body += struct.pack("<IIQQII", 8, 1, 42, 7, protection, 2) + path + b"\0"
    return record("mmap2", with_id(body + bytes(-len(body) % 8)))


def test_a_sample_in_user_mode():
    stack = struct.pack("<4Q", 11, 12, 13, 14)
    value = parse(sample(stack=stack, real=24), STACKS)
    assert isinstance(value, Sample)
    assert (value.pid, value.tid, value.time, value.ip) == (PID, TID, TIME, 0xABC)
    assert value.mode == Mode.USER
    assert value.kernel == ()
    assert value.registers == REGISTERS
    assert user_ip(value) == REGISTERS[8]
    assert not value.compat
    assert list(value.stack) == [11, 12, 13]
    assert value.stack_bytes == 24


def test_a_sample_in_the_kernel_keeps_the_users_registers_and_drops_markers():
    value = parse(sample(chain=(KERNEL_CONTEXT, 0xFFFFFFFF81000010, 0xFFFFFFFF81000020), misc=1), STACKS)
    assert isinstance(value, Sample)
    assert value.mode == Mode.KERNEL
    assert value.kernel == (0xFFFFFFFF81000010, 0xFFFFFFFF81000020)
    assert value.registers == REGISTERS


def test_a_kernel_thread_has_no_registers_and_no_stack():
    value = parse(sample(abi=0, misc=1), STACKS)
    assert isinstance(value, Sample)
    assert value.registers == ()
    assert len(value.stack) == value.stack_bytes == 0
    assert user_ip(value) == 0xABC


def test_a_32_bit_task_is_marked():
    value = parse(sample(abi=1), STACKS)
    assert isinstance(value, Sample)
    assert value.compat


@pytest.mark.parametrize(("misc", "kernel"), [(1, (0xABC,)), (2, ())])
def test_a_flat_sample_is_its_leaf(misc: int, kernel: tuple[int, ...]):
    flat = record("sample", struct.pack("<QQIIQ", EVENT, 0xABC, PID, TID, TIME), misc)
    value = parse(flat, FLAT)
    assert isinstance(value, Sample)
    assert (value.pid, value.ip, value.kernel, value.registers) == (PID, 0xABC, kernel, ())


@pytest.mark.parametrize(
    ("name", "path", "deleted"),
    [
        (b"/usr/lib/libc.so.6", "/usr/lib/libc.so.6", False),
        (b"/tmp/gone (deleted)", "/tmp/gone", True),
        (b"//anon", "", False),
        (b"[vdso]", "[vdso]", False),
        (b"/bad\xff", "/bad\ufffd", False),
    ],
)
def test_an_executable_mapping(name: bytes, path: str, deleted: bool):
    expected = Mapped(PID, TIME, 0x7000, 0x9000, 0x1000, (8, 1), 42, path, deleted)
    assert parse(mmap2(name), STACKS) == expected


def test_a_mapping_of_data_is_of_no_use():
    assert parse(mmap2(b"/some/data", protection=3), STACKS) is None


def test_forks_and_exits():
    body = with_id(struct.pack("<IIIIQ", PID, 7, TID, 8, TIME))
    assert parse(record("fork", body), STACKS) == Forked(PID, 7, TID, TIME)
    assert parse(record("exit", body), STACKS) == Exited(PID, TID, TIME)


@pytest.mark.parametrize(("misc", "executed"), [(0, False), (1 << 13, True)])
def test_names(misc: int, executed: bool):
    body = with_id(struct.pack("<II", PID, TID) + b"fifteen letters\0")
    value = parse(record("comm", body, misc), STACKS)
    assert value == Renamed(PID, TID, TIME, "fifteen letters", executed)


def test_losses():
    assert parse(record("lost", with_id(struct.pack("<QQ", 5, 17))), STACKS) == Lost(17)


def test_what_the_kernel_stopped():
    """perf_event_open(2): time, id, stream_id."""
    assert parse(record("throttle", with_id(struct.pack("<QQQ", 1, 2, 3))), STACKS) == Throttled(TIME)


def test_types_that_nobody_needs():
    assert parse(record("unthrottle", with_id(struct.pack("<QQQ", 1, 2, 3))), STACKS) is None


@pytest.mark.parametrize("made", [sample(), mmap2(b"/x"), record("lost", with_id(bytes(16)))])
def test_the_time_is_found_without_parsing(made: memoryview):
    assert time_of(made) == TIME


@given(
    kind=st.integers(0, 25),
    misc=st.integers(0, 0xFFFF),
    body=st.binary(max_size=400),
    layout=st.sampled_from([FLAT, STACKS]),
)
def test_no_bytes_make_the_parser_fail(kind: int, misc: int, body: bytes, layout: int):
    made = memoryview(struct.pack("<IHH", kind, misc, 8 + len(body)) + body)
    parse(made, layout)
    assert time_of(made) >= 0


@given(data=st.data())
def test_a_record_that_was_cut_off_is_none_or_a_value(data: st.DataObject):
    whole = data.draw(
        st.sampled_from(
            [sample(chain=(KERNEL_CONTEXT, 1, 2), stack=bytes(64)), mmap2(b"/usr/bin/python3"), sample(abi=0)]
        )
    )
    kept = data.draw(st.integers(8, len(whole)))
    lied = data.draw(st.booleans())
    header = struct.pack("<IHH", *struct.unpack_from("<IH", whole), len(whole) if lied else kept)
    parse(memoryview(header + bytes(whole[8:kept])), STACKS)


@given(length=st.integers(0, (1 << 64) - 1), copied=st.integers(0, (1 << 64) - 1))
def test_lengths_inside_a_sample_are_not_believed(length: int, copied: int):
    whole = bytearray(sample(stack=bytes(64)))
    struct.pack_into("<Q", whole, 40, length)
    parse(memoryview(bytes(whole)), STACKS)
    whole = bytearray(sample(stack=bytes(64)))
    struct.pack_into("<Q", whole, 56 + 160, copied)
    value = parse(memoryview(bytes(whole)), STACKS)
    assert value is None or len(value.stack) <= 64 // 8 + 1
