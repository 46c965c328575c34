"""Rules against readelf, an independent reader of the same tables."""

import os
from pathlib import Path

import pytest

from gateway.unwind.eh_frame import UnwindTable
from gateway.unwind.rules import FROM_RSP, NO_ENTRY_RULE, OUTERMOST_RULE, UNUSABLE_RULE
from tests.cfi_oracle import SYSTEM, ReadelfRow, open_table, says_the_same

from .conftest import GOLDEN, run_readelf


def assert_agreement(data: bytes, rows: list[ReadelfRow]) -> None:
    layout, table = open_table(data)
    assert rows, "readelf printed no rows"
    wrong = []
    for row in rows:
        offset = layout.offset(row.address)
        assert offset is not None
        if row.address < row.end and not says_the_same(table.rule(offset), row):
            wrong.append((row, table.rule(offset)))
    assert not wrong, f"{len(wrong)} of {len(rows)} rows differ, the first: {wrong[:3]}"
    assert table.damaged_entries == 0
    assert table.why == ""


def test_the_golden_file_reads_as_readelf_read_it(frames_elf, frames_rows):
    assert_agreement(frames_elf, frames_rows)


def test_its_expressions_are_those_that_readelf_reads(frames_elf):
    rows = run_readelf(GOLDEN / "frames.elf")
    assert {column for row in rows for column in row.expressions or {}} >= {"CFA", "rbp"}
    assert_agreement(frames_elf, rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", SYSTEM)
def test_system_files_read_as_readelf_reads_them(name):
    path = Path(name)
    if not path.exists():
        pytest.skip(f"{name} is not here")
    assert_agreement(path.read_bytes(), run_readelf(path))


def test_code_between_functions_has_no_entry(frames_elf):
    _, table = open_table(frames_elf)
    assert table.rule(0x10E5) == NO_ENTRY_RULE  # without_entry
    assert table.rule(0x10EF) == (FROM_RSP, 1, 0, 0, None)  # last
    assert table.rule(0x10F0) == NO_ENTRY_RULE


def test_an_offset_that_is_not_code_has_no_entry(frames_elf):
    _, table = open_table(frames_elf)
    assert table.rule(0x1F00) == NO_ENTRY_RULE
    assert table.rule(1 << 60) == NO_ENTRY_RULE


def test_function_start_is_the_covering_entrys(frames_elf):
    _, table = open_table(frames_elf)
    assert table.function_start(0x3F0) == 0x3F0
    assert table.function_start(0x401) == 0x3F0
    assert table.function_start(0x402) == 0x402
    assert table.function_start(0x10E5) is None


def test_an_entry_is_read_once_for_all_its_rows(frames_elf):
    reads: list[int] = []
    layout, _ = open_table(frames_elf)
    table = UnwindTable(
        layout, lambda offset, size: reads.append(offset) or frames_elf[offset : offset + size]
    )
    for offset in range(0x3F0, 0x402):
        table.rule(offset)
    before = len(reads)
    for offset in range(0x3F0, 0x402):
        table.rule(offset)
    assert table.entries_evaluated == 1
    assert len(reads) == before


def test_a_file_without_the_table_says_so(frames_elf):
    layout, _ = open_table(frames_elf)
    bare = UnwindTable(type(layout)(layout.segments, layout.entry_offset, None, b"", b""), lambda *_: b"")
    assert bare.rule(0x3F0) == NO_ENTRY_RULE
    assert bare.why == "no .eh_frame_hdr"


def test_code_of_an_unreadable_file_is_not_taken_for_code_without_entries():
    table = UnwindTable(None, lambda *_: b"", why="the mapped file cannot be opened", readable=False)
    assert table.rule(0) == UNUSABLE_RULE
    assert table.why == "the mapped file cannot be opened"


def test_a_cut_off_table_is_unusable_and_says_why(frames_elf):
    cut = frames_elf[:0x1100]
    _, table = open_table(cut)
    assert table.rule(0x3F0) == UNUSABLE_RULE
    assert "cut off" in table.why


def test_an_unknown_table_encoding_is_unusable_and_says_which(frames_elf):
    changed = bytearray(frames_elf)
    changed[0x10F3] = 0x1B
    _, table = open_table(bytes(changed))
    assert table.rule(0x3F0) == UNUSABLE_RULE
    assert "011b031b" in table.why


def test_a_damaged_entry_spoils_only_itself(frames_elf):
    changed = bytearray(frames_elf)
    # The first instruction of the FDE of `framed` becomes one that does not exist.
    entry = frames_elf.index(b"\x41\x0e\x10\x86\x02\x43\x0d\x06")
    changed[entry] = 0x3F
    _, table = open_table(bytes(changed))
    assert table.rule(0x403) == UNUSABLE_RULE
    assert table.damaged_entries == 1
    assert "0x3f" in table.why
    assert table.rule(0x3F0) == (FROM_RSP, 1, 0, 0, None)


def test_ld_so_begins_the_stack_at_its_entry_point():
    path = Path("/lib64/ld-linux-x86-64.so.2")
    if not path.exists():
        pytest.skip("no glibc here")
    layout, table = open_table(path.read_bytes())
    # _start and _dl_start_user have no entry; whoever returns there was called by nobody.
    assert table.rule(layout.entry_offset) == OUTERMOST_RULE
    assert table.rule(layout.entry_offset + 7) == OUTERMOST_RULE


def test_the_running_interpreter_can_be_read():
    data = Path(os.path.realpath("/proc/self/exe")).read_bytes()
    layout, table = open_table(data)
    assert table.rule(layout.entry_offset) == OUTERMOST_RULE
