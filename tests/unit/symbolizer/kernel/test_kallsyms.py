import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.elf_writer import TEXT_OFFSET, Symbol, elf_file
from symbolizer.addresses import FileOffsets
from symbolizer.elf.file import ElfFile
from symbolizer.errors import MalformedImage, SymbolizerError, SymbolsHidden
from symbolizer.kernel import kallsyms
from symbolizer.kernel.identity import KernelIdentity
from symbolizer.kernel.kallsyms import (
    MAX_FUNCTIONS,
    MISS,
    TABLE_MAGIC,
    OffsetTable,
    kallsyms_of,
    parse_kallsyms,
    parse_table,
)
from symbolizer.sources.running_kernel import RunningKernel
from symbolizer.sources.source import Missing

TEXT = b"""\
0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000000 t startup_64
ffffffff81000100 T __x64_sys_read
ffffffff81000100 T ksys_read_entry
ffffffff81000180 W weak_one
ffffffff81000200 d not_code
ffffffff81000240 T last_one
ffffffffc0200000 t nf_first\t[nf_tables]
ffffffffc0200040 t nf_second\t[nf_tables]
ffffffffc0300000 t bpf_prog_abc\t[bpf]
"""
BASES = {"nf_tables": 0xFFFFFFFFC0200000}


def find(table: OffsetTable, offset: int) -> bytes | None:
    index = int(table.find(FileOffsets(np.array([offset], np.uint64)))[0])
    return None if index == MISS else table.names[index]


def test_offsets_count_from_stext() -> None:
    kernel = parse_kallsyms(TEXT, BASES).kernel
    assert find(kernel, 0x50) == b"startup_64"
    assert find(kernel, 0x17F) == b"ksys_read_entry"
    assert find(kernel, 0x1A0) == b"weak_one"
    assert find(kernel, 0x210) == b"weak_one"  # data is no boundary
    assert find(kernel, 0xFFF) == b"last_one"
    assert find(kernel, 0x1000) is None


def test_a_module_counts_from_where_it_is_loaded() -> None:
    modules = parse_kallsyms(TEXT, BASES).modules
    assert set(modules) == {"nf_tables"}
    assert find(modules["nf_tables"], 0x3F) == b"nf_first"
    assert find(modules["nf_tables"], 0x40) == b"nf_second"
    assert find(modules["nf_tables"], 0x5000) is None


def test_hidden_addresses_are_said_to_be_hidden() -> None:
    hidden = b"".join(b"0" * 16 + line[16:] + b"\n" for line in TEXT.splitlines())
    with pytest.raises(SymbolsHidden):
        parse_kallsyms(hidden, {})


@pytest.mark.parametrize(
    "text", [b"", b"ffffffff81000000 T start_kernel\n", b"zzz T _stext\n", b"1" * 40 + b" T _stext\n"]
)
def test_what_cannot_be_kallsyms_is_refused(text: bytes) -> None:
    with pytest.raises(MalformedImage):
        parse_kallsyms(text, {})


@given(st.binary(max_size=300))
def test_no_text_breaks_it(tail: bytes) -> None:
    try:
        kernel = parse_kallsyms(TEXT + tail, BASES).kernel
    except SymbolizerError:
        return
    assert len(kernel.starts) == len(kernel.ends) == len(kernel.names)
    assert (kernel.starts < kernel.ends).all()


def note(build_id: bytes) -> bytes:
    return b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0" + build_id


def kernel_below(root: Path, kallsyms: bytes) -> RunningKernel:
    for name, content in (
        ("sys/kernel/notes", note(b"\x07" * 20)),
        ("proc/kallsyms", kallsyms),
        ("sys/module/nf_tables/coresize", b"8192\n"),
        ("sys/module/nf_tables/notes/.note.gnu.build-id", note(b"\x09" * 20)),
        ("sys/module/nf_tables/sections/.text", b"0xffffffffc0200000\n"),
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return RunningKernel(root)


def test_only_the_running_build_is_answered_for(tmp_path: Path) -> None:
    kernel = kernel_below(tmp_path, TEXT)
    ours = KernelIdentity(b"\x07" * 20, (("nf_tables", "09" * 20),))
    symbols = kernel.symbols(ours)
    assert not isinstance(symbols, Missing)
    assert find(symbols.modules["nf_tables"], 0x41) == b"nf_second"
    assert isinstance(kernel.symbols(KernelIdentity(b"\x08" * 20, ours.modules)), Missing)
    assert isinstance(kernel.symbols(KernelIdentity(b"")), Missing)
    assert isinstance(RunningKernel(tmp_path / "nothing").symbols(ours), Missing)


def test_hidden_symbols_are_a_value_with_its_reason(tmp_path: Path) -> None:
    hidden = kernel_below(tmp_path, TEXT.replace(b"ffffffff", b"00000000").replace(b"81000", b"00000"))
    missing = hidden.symbols(KernelIdentity(b"\x07" * 20))
    assert isinstance(missing, Missing)


@pytest.mark.slow
def test_this_machines_kernel_names_its_own_functions() -> None:
    kernel = RunningKernel()
    symbols = kernel.symbols(KernelIdentity(kernel.build_id()))
    if isinstance(symbols, Missing):
        pytest.skip(symbols.reason)
    raw = [line.split() for line in Path("/proc/kallsyms").read_text().splitlines()]
    functions = [fields for fields in raw if len(fields) == 3 and fields[1] in "tT"]
    stext = next(int(address, 16) for address, _, name in functions if name == "_stext")
    for address, _, _ in functions[1000:100000:997]:
        same = {name.encode() for other, _, name in raw_at(raw, address)}
        assert find(symbols.kernel, int(address, 16) - stext) in same


def raw_at(raw: list[list[str]], address: str) -> list[list[str]]:
    return [fields[:3] for fields in raw if fields[0] == address]


def test_this_machines_vdso_is_known_by_its_build_id() -> None:
    kernel = RunningKernel()
    assert isinstance(kernel.vdso(b"\x01" * 20), Missing)


def test_more_functions_than_a_kernel_has_are_refused() -> None:
    text = b"ffffffff81000000 T _stext\n" + b"ffffffff81000000 t f\n" * MAX_FUNCTIONS
    with pytest.raises(MalformedImage, match="more than 1048576 functions"):
        parse_kallsyms(text, {})
    with pytest.raises(MalformedImage, match="1048577 functions; the limit is 1048576"):
        parse_table(TABLE_MAGIC + b"kernel 07 0 100001\n\n")


def test_words_that_a_table_does_not_announce_are_not_split() -> None:
    text = TABLE_MAGIC + b"kernel 07 0 1\n\n" + b"a " * 2_000_000
    tracemalloc.start()
    try:
        with pytest.raises(MalformedImage, match="more or fewer functions"):
            parse_table(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(text), "each word would take ten times its bytes"


def test_names_of_a_vmlinux_that_are_all_one_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = [Symbol("_stext", TEXT_OFFSET, 0)]
    functions += [Symbol("x" * 1000, TEXT_OFFSET + 16 * n, 16) for n in range(1, 9)]
    vmlinux = ElfFile(elf_file(b"\x07" * 20, functions, kernel=True))
    assert len(kallsyms_of(vmlinux).kernel.names) == 9
    monkeypatch.setattr(kallsyms, "MAX_BYTES", 8000)
    with pytest.raises(MalformedImage, match="The names of its functions exceed 8000 bytes"):
        kallsyms_of(vmlinux)


def test_what_a_table_takes_is_told() -> None:
    table = OffsetTable(np.zeros(2, np.uint64), np.zeros(2, np.uint64), (b"a" * 100, b"b" * 200))
    assert 300 < table.memory_bytes < 600
