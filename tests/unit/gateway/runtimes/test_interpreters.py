"""GIVEN interpreters of this machine WHEN their files are read THEN version, layout and refusals are right."""

import contextlib
import os
import random
import struct
import subprocess
from pathlib import Path

import pytest

from gateway.errors import BadFormat, BadImage, RuntimeUnsupported
from gateway.runtimes.bpf.kernel_types import KERNEL_BTF, member_offsets, read_member_offsets
from gateway.runtimes.bpf.object_file import parse_object
from gateway.runtimes.python import programs
from gateway.runtimes.python.interpreter_file import read_interpreter
from gateway.runtimes.python.layouts import LAYOUTS, MAX_CODE_BYTES, layout_of
from gateway.runtimes.python.processes import packed
from gateway.unwind.elf import read_layout
from tests.interpreters import interpreters

FOLDER = Path(programs.__file__).parent
ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("program", interpreters())
def test_a_file_states_its_version(program: str):
    minor, path = interpreters()[program]
    data = path.read_bytes()

    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    found = read_interpreter(path.name, read_layout(read), read)
    assert found is not None
    assert found.layout.version == (3, minor)
    assert found.evaluation[1] > found.evaluation[0] > 0


def test_another_program_has_none():
    data = Path("/bin/ls").read_bytes()

    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    assert read_interpreter("ls", read_layout(read), read) is None


def table(version: int, free_threaded: int = 0) -> bytes:
    words = [version, free_threaded, *(8 * n for n in range(78))]
    return b"xdebugpy" + struct.pack("<80Q", *words)


@pytest.mark.parametrize(
    ("runtime", "reason"),
    [
        (table(0x030D00F0, 1), "free-threaded CPython 3.13 is not supported"),
        (table(0x030F00A1), "CPython 3.15 is not supported: frames of 3.9 to 3.14 are read"),
        (table(0x030D00F0), "implausible"),
        (b"xdebugpy", "cut off"),
    ],
)
def test_what_is_not_read_is_refused_by_name(runtime: bytes, reason: str):
    with pytest.raises(RuntimeUnsupported, match=reason):
        layout_of(runtime)


def test_a_hundred_thousand_mutated_tables_are_layouts_or_refused():
    chance = random.Random(1)
    for _ in range(100_000):
        words = [
            chance.choice((0x030D00F0, 0x030E00F0)),
            0,
            *(chance.choice((8, 16, 68, 104, 112, 200, 1 << 40)) for _ in range(78)),
        ]
        try:
            layout = layout_of(b"xdebugpy" + struct.pack("<80Q", *words))
        except RuntimeUnsupported:
            continue
        assert len(packed(layout, (1 << 64) - 8, 1)) == 96


def test_layouts_fit_the_program():
    for layout in LAYOUTS.values():
        assert layout.code_size <= MAX_CODE_BYTES
        assert len(packed(layout, 0x5555_0000, 7)) == 96


def test_the_object_was_built_from_its_source():
    done = subprocess.run([ROOT / "infra/build-bpf", "check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_object_has_a_licence_that_its_helpers_accept():
    found = parse_object((FOLDER / "python_frames.bpf.o").read_bytes(), "perf_event")
    assert found.licence == b"Dual MIT/GPL"
    assert found.maps["processes"].value_bytes == 96
    with pytest.raises(BadImage):
        parse_object(Path("/bin/ls").read_bytes(), "perf_event")


def test_damaged_objects_are_refused():
    sound = (FOLDER / "python_frames.bpf.o").read_bytes()
    chance = random.Random(2)
    for _ in range(2000):
        data = bytearray(sound)
        for _ in range(chance.choice((1, 4, 30))):
            data[chance.choice((chance.randrange(64), chance.randrange(len(data))))] = chance.randrange(256)
        with contextlib.suppress(BadImage):
            parse_object(bytes(data[: chance.choice((len(data), chance.randrange(len(data))))]), "perf_event")


def types() -> bytes:
    """BTF of two structures, `outer {pad; wanted}` and a typedef between them."""
    names = b"\0outer\0pad\0wanted\0other\0"
    at = {name: names.index(b"\0" + name + b"\0") + 1 for name in (b"outer", b"pad", b"wanted", b"other")}
    body = struct.pack("<III", at[b"pad"], 1 << 24, 4) + struct.pack("<I", 32)
    body += struct.pack("<III", at[b"outer"], 4 << 24 | 2, 16)
    body += struct.pack("<IIIIII", at[b"pad"], 1, 0, at[b"wanted"], 1, 64)
    body += struct.pack("<III", at[b"other"], 8 << 24, 1)
    return struct.pack("<HBBIIIII", 0xEB9F, 1, 0, 24, 0, len(body), len(body), len(names)) + body + names


def test_offsets_come_from_the_kernels_types():
    assert member_offsets(types(), {"outer": ("wanted",)}) == {("outer", "wanted"): 8}
    with pytest.raises(BadFormat, match=r"no outer\.missing"):
        member_offsets(types(), {"outer": ("missing",)})


def test_damaged_types_are_refused_in_time():
    sound, chance = types(), random.Random(4)
    for _ in range(100_000):
        data = bytearray(sound)
        for _ in range(chance.choice((1, 2, 8))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            found = member_offsets(bytes(data), {"outer": ("wanted",)})
        except BadFormat:
            continue
        assert set(found) == {("outer", "wanted")}


@pytest.mark.skipif(not KERNEL_BTF.exists(), reason="this kernel has no BTF")
def test_the_running_kernel_states_its_own():
    found = read_member_offsets({"task_struct": ("thread", "tgid"), "thread_struct": ("fsbase",)})
    assert all(0 <= offset < 1 << 16 for offset in found.values())


@pytest.mark.parametrize(
    ("code", "lockdown", "reason"),
    [
        (1, "", "CAP_BPF and CAP_PERFMON"),
        (38, "", "CONFIG_BPF_SYSCALL"),
        (1, "none [confidentiality]", "lockdown"),
    ],
)
def test_what_forbids_programs_is_named(code: int, lockdown: str, reason: str):
    assert reason in programs.why_refused(OSError(code, os.strerror(code)), lockdown)
