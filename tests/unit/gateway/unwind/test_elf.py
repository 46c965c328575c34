import struct
import subprocess
from pathlib import Path

import pytest

from gateway.errors import BadImage
from gateway.unwind.elf import MAX_PROGRAM_HEADERS, read_layout


def layout_of(data: bytes):
    return read_layout(lambda offset, size: data[offset : offset + size])


def note(owner: bytes, kind: int, value: bytes) -> bytes:
    pad = -len(value) % 4
    return (
        struct.pack("<III", len(owner), len(value), kind)
        + owner
        + b"\0" * (-len(owner) % 4)
        + value
        + b"\0" * pad
    )


def elf_with_notes(*notes: bytes, entry: int = 0x401000) -> bytes:
    body = b"".join(notes)
    headers = [
        struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, 0x2000, 0x2000, 0x1000),
        struct.pack("<IIQQQQQQ", 4, 4, 0x200, 0x400200, 0x400200, len(body), len(body), 4),
    ]
    head = b"\x7fELF\x02\x01\x01" + b"\0" * 9
    head += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, entry, 64, 0, 0, 64, 56, len(headers), 0, 0, 0)
    data = head + b"".join(headers)
    return data.ljust(0x200, b"\0") + body


def test_the_golden_file(frames_elf):
    layout = layout_of(frames_elf)
    assert layout.eh_frame_hdr == (0x10F0, 0x64)
    assert len(layout.build_id) == 20
    assert layout.entry_offset == -1  # a library has none
    assert layout.offset(0x2EF8) == 0x1EF8
    assert layout.address(0x1EF8) == 0x2EF8
    assert layout.code_address(0x1EF8) is None  # data
    assert layout.code_address(0x3F0) == 0x3F0
    assert layout.offset(0x1_0000) is None


def test_only_gnu_build_ids_are_build_ids():
    # Xen's notes and stapsdt probes have type 3 as well.
    foreign = note(b"Xen\0", 3, b"xen-3.0\0")
    mine = note(b"GNU\0", 3, bytes(range(20)))
    assert layout_of(elf_with_notes(foreign, note(b"GNU\0", 1, b"\0" * 16), mine)).build_id == bytes(
        range(20)
    )
    assert layout_of(elf_with_notes(foreign)).build_id == b""


def test_gos_build_id_is_kept_apart():
    layout = layout_of(elf_with_notes(note(b"Go\0\0", 4, b"abc/def")))
    assert layout.build_id == b""
    assert layout.go_build_id == b"abc/def"


def test_a_note_that_claims_more_than_there_is_ends_the_list():
    damaged = struct.pack("<III", 4, 0xFFFFFFF0, 3) + b"GNU\0"
    assert layout_of(elf_with_notes(damaged, note(b"GNU\0", 3, b"x" * 20))).build_id == b""


def test_the_entry_point_as_a_file_offset():
    assert layout_of(elf_with_notes()).entry_offset == 0x1000
    assert layout_of(elf_with_notes(entry=0x900000)).entry_offset == -1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: b"#!/bin/sh\n", "not an ELF file"),
        (lambda data: b"", "not an ELF file"),
        (lambda data: data[:4] + b"\x01" + data[5:], "64-bit"),
        (lambda data: data[:5] + b"\x02" + data[6:], "little-endian"),
        (lambda data: data[:40], "cut off"),
        (lambda data: data[:18] + b"\xb7\0" + data[20:], "not x86-64"),
        (lambda data: data[:54] + b"\x20\0" + data[56:], "not plausible"),
        (
            lambda data: data[:56] + (MAX_PROGRAM_HEADERS + 1).to_bytes(2, "little") + data[58:],
            "not plausible",
        ),
        (lambda data: data[:32] + b"\xff" * 8 + data[40:], "cut off"),
    ],
)
def test_other_files_are_refused_by_reason(frames_elf, change, why):
    with pytest.raises(BadImage, match=why):
        layout_of(change(frames_elf))


def test_the_build_id_is_readelfs():
    libc = Path("/lib/x86_64-linux-gnu/libc.so.6")
    if not libc.exists():
        pytest.skip("no glibc here")
    notes = subprocess.run(["readelf", "-n", libc], capture_output=True, text=True, check=True).stdout
    assert f"Build ID: {layout_of(libc.read_bytes()).build_id.hex()}\n" in notes
