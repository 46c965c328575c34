from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.machine.kernel_map import KernelMap, Module, read_kernel_build_id, read_kernel_map, read_modules
from gateway.symbols.kernel_table import kernel_table
from symbolizer.kernel.kallsyms import LoadedModule, parse_table, table_of_boot

BUILD = b"\x07" * 20
KALLSYMS = """\
0000000000000000 A fixed_percpu_data
{0:x} T _stext
{0:x} T _text
{1:x} T __x64_sys_read
{1:x} T ksys_read_entry
{2:x} d not_code
{3:x} T _etext
{4:x} T _sinittext
{5:x} t nf_second\t[nf_tables]
{6:x} t nf_first\t[nf_tables]
{7:x} t bpf_prog_abc\t[bpf]
{8:x} t hidden\t[hidden]
"""


def boot(kernel: int, module: int) -> tuple[bytes, list[Module]]:
    """The kernel's list after a boot that put it and a module to these addresses."""
    offsets = (0, 0x100, 0x180, 0x2000, 0x3000)
    text = KALLSYMS.format(
        *(kernel + offset for offset in offsets), module + 0x40, module, module + 0x9000, module + 0xA000
    )
    modules = [Module("nf_tables", module, 0x4000, b"\x09" * 20), Module("hidden", 0, 0x1000, b"")]
    return text.encode(), modules


def pieces(text: bytes, size: int) -> Iterator[bytes]:
    return (text[start : start + size] for start in range(0, len(text), size))


def table(text: bytes, modules: list[Module], size: int = 1 << 16) -> bytes:
    bounds = KernelMap([text], modules).text
    assert bounds is not None
    return kernel_table(pieces(text, size), BUILD, bounds, modules, lambda: None)


def oracle(text: bytes, modules: list[Module]) -> bytes:
    loaded = [LoadedModule(m.name, m.build_id.hex(), m.base, m.size) for m in modules]
    return table_of_boot(text, BUILD, loaded)


def test_every_boot_gives_the_same_bytes():
    first = table(*boot(0xFFFFFFFF81000000, 0xFFFFFFFFC0200000))
    assert first == table(*boot(0xFFFFFFFFA7400000, 0xFFFFFFFFC0A31000))
    assert b"ffff" not in first
    build_id, symbols = parse_table(first)
    assert build_id == BUILD
    assert symbols.kernel.names == (b"_stext", b"ksys_read_entry")
    assert symbols.kernel.ends.tolist() == [0x100, 0x2000]
    assert symbols.builds == {"nf_tables": "09" * 20, "hidden": ""}
    assert {name: found.names for name, found in symbols.modules.items()} == {
        "nf_tables": (b"nf_first", b"nf_second")
    }


@given(st.integers(1, 400))
def test_it_is_the_symbolizers_own_however_it_is_read(size):
    text, modules = boot(0xFFFFFFFF81000000, 0xFFFFFFFFC0200000)
    assert table(text, modules, size) == oracle(text, modules)


def test_this_kernel_is_read_alike_by_both_sides():
    bounds = read_kernel_map().text
    if bounds is None:
        pytest.skip("this kernel hides its addresses")
    text = Path("/proc/kallsyms").read_bytes()
    build_id, modules = read_kernel_build_id(), read_modules()
    loaded = [LoadedModule(m.name, m.build_id.hex(), m.base, m.size) for m in modules]
    mine = kernel_table(pieces(text, 1 << 16), build_id, bounds, modules, lambda: None)
    assert mine == table_of_boot(text, build_id, loaded)
    assert parse_table(mine)[0] == build_id
