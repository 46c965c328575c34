"""GIVEN a file without .eh_frame_hdr WHEN its table is made THEN it has the rules that readelf reads."""

import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from gateway.unwind import eh_frame, eh_frame_scan
from gateway.unwind.rules import NO_ENTRY_RULE, UNUSABLE_RULE
from tests.cfi_oracle import compare, open_table


def without_index(elf: bytes) -> bytes:
    return elf.replace(struct.pack("<I", 0x6474E550), bytes(4))


def test_the_table_is_the_one_that_the_index_gives(frames_elf):
    _, whole = open_table(frames_elf)
    layout, made = open_table(without_index(frames_elf))
    assert layout.eh_frame_hdr is None
    for offset in range(0x3B0, 0x10F8):
        assert made.rule(offset) == whole.rule(offset)
        assert made.function_start(offset) == whole.function_start(offset)
    assert made.why == ""
    assert made.table_bytes > 0


def test_a_static_program_is_read_as_readelf_reads_it(tmp_path: Path):
    if shutil.which("gcc") is None or shutil.which("readelf") is None:
        pytest.skip("gcc or readelf is not installed")
    (tmp_path / "a.c").write_text('#include <stdio.h>\nint main(void) { return printf("%d", 1); }')
    command = ["gcc", "-O2", "-static", "-o", "a", "a.c"]
    if subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode:
        pytest.skip("the compiler makes no static programs")
    found = compare(tmp_path / "a")
    assert found.rows > 3000
    assert not found.differing, found.differing[:3]
    assert found.why == ""


def test_a_file_without_section_headers_has_no_table(frames_elf):
    bare = bytearray(without_index(frames_elf))
    bare[40:48] = bytes(8)
    bare[58:64] = bytes(6)
    _, table = open_table(bytes(bare))
    assert table.rule(0x3F0) == NO_ENTRY_RULE
    assert table.why == "no .eh_frame_hdr"


def test_a_section_too_large_to_be_read_through_is_unusable(frames_elf, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(eh_frame, "MAX_SECTION_BYTES", 16)
    _, table = open_table(without_index(frames_elf))
    assert table.rule(0x3F0) == UNUSABLE_RULE
    assert "too large" in table.why


def test_what_is_behind_damage_is_left_out(frames_elf):
    section = frames_elf[0x1158:0x12DC]
    starts, frames = eh_frame_scan.scan(section, 0x1158)
    cut = bytearray(section)
    cut[frames[2] : frames[2] + 4] = b"\xff\xff\xff\xff"
    fewer, places = eh_frame_scan.scan(bytes(cut), 0x1158)
    assert 0 < len(fewer) < len(starts)
    assert set(places) < set(frames)
