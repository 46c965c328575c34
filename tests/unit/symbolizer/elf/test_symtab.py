import random
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulation.elf_writer import TEXT_OFFSET, Symbol, elf_file
from symbolizer.addresses import NOWHERE, ElfVaddrs
from symbolizer.elf.file import MAX_STRING_BYTES, MAX_SYMBOLS, ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import MalformedElf
from symbolizer.files import OpenedFile
from symbolizer.tables import symbol_table
from symbolizer.tables.symbol_table import MAX_NESTING, MISS, NO_SYMBOLS, Functions, Names, SymbolTable
from tests.hostile_elf import Counted, hostile_elf

SHT_STRTAB = 3
ASSEMBLY = """
.text
.globl outer
.type outer, @function
outer: .skip 16
.type inner, @function
inner: .skip 8
.size inner, .-inner
label_in_outer:
.skip 40
.size outer, .-outer
.skip 16
.globl plain_name, __plain_name, _plain_name_too
.type plain_name, @function
.type __plain_name, @function
.type _plain_name_too, @function
__plain_name:
_plain_name_too:
plain_name: .skip 16
.size plain_name, 16
.size __plain_name, 16
.size _plain_name_too, 16
.weak weak_alias
.type weak_alias, @function
.globl strong
.type strong, @function
weak_alias:
strong: .skip 8
.size weak_alias, 8
.size strong, 8
handwritten: .skip 32
.type last, @function
.globl last
last: .skip 8
.data
.globl value
value: .quad 1
"""


def find(table: SymbolTable, address: int) -> str | None:
    index = int(table.find(ElfVaddrs(np.array([address], np.uint64)))[0])
    return None if index == MISS else table.symbol(index).name


@pytest.fixture(scope="session")
def assembled(programs) -> tuple[SymbolTable, dict[str, int]]:
    (programs.folder / "rules.s").write_text(ASSEMBLY)
    programs.run("gcc", "-c", "rules.s", "-o", "rules.o")
    programs.run("gcc", "-shared", "-nostdlib", "rules.o", "-o", "rules.so")
    lines = programs.run("nm", "rules.so").splitlines()
    addresses = {fields[2]: int(fields[0], 16) for line in lines if len(fields := line.split()) == 3}
    return read_symbols(ElfFile((programs.folder / "rules.so").read_bytes())), addresses


def test_of_several_names_the_choice_is_perfs(assembled: tuple[SymbolTable, dict[str, int]]) -> None:
    table, at = assembled
    assert find(table, at["plain_name"]) == "plain_name"
    assert find(table, at["strong"]) == "strong"


def test_a_symbol_without_size_reaches_to_the_next_or_the_end_of_its_section(
    assembled: tuple[SymbolTable, dict[str, int]],
) -> None:
    table, at = assembled
    assert find(table, at["handwritten"] + 31) == "handwritten"
    assert find(table, at["last"] + 7) == "last"
    assert find(table, at["last"] + 8) is None


def test_a_label_within_a_function_is_not_a_function(assembled: tuple[SymbolTable, dict[str, int]]) -> None:
    table, at = assembled
    assert find(table, at["label_in_outer"] + 1) == "outer"


def test_the_innermost_of_nested_functions_holds_the_address(
    assembled: tuple[SymbolTable, dict[str, int]],
) -> None:
    table, at = assembled
    assert [find(table, at["outer"] + offset) for offset in (0, 15, 16, 23, 24, 63)] == [
        "outer", "outer", "inner", "inner", "outer", "outer",
    ]  # fmt: skip


def test_an_address_beyond_a_function_is_a_miss(assembled: tuple[SymbolTable, dict[str, int]]) -> None:
    table, at = assembled
    assert find(table, at["outer"] + 64) is None
    assert find(table, 0) is None
    assert find(table, int(NOWHERE)) is None
    assert find(table, at["value"]) is None


def test_nothing_is_found_in_no_symbols() -> None:
    assert find(NO_SYMBOLS, 0x1000) is None
    assert NO_SYMBOLS.is_stripped


@pytest.mark.parametrize("variant", ["pie", "fixed", "by_lld"])
def test_functions_are_those_of_nm(programs, variant: str) -> None:
    path = getattr(programs, variant)
    table = read_symbols(ElfFile(path.read_bytes()))
    lines = programs.run("nm", "--defined-only", "--print-size", str(path)).splitlines()
    functions = [line.split() for line in lines if len(line.split()) == 4 and line.split()[2] in "tTwW"]
    assert len(functions) >= 5
    chance = random.Random(1)
    for start, size, _, name in functions:
        at = int(start, 16) + chance.randrange(int(size, 16))
        index = table.find(ElfVaddrs(np.array([at], np.uint64)))
        symbol = table.symbol(int(index[0]))
        assert (symbol.start, symbol.end) == (int(start, 16), int(start, 16) + int(size, 16))
        same = {fields[3] for fields in functions if fields[0] == start}
        assert symbol.name in same, name


@pytest.mark.parametrize("variant", ["pie", "fixed", "by_lld"])
def test_stubs_are_named_like_objdump_names_them(programs, variant: str) -> None:
    path = getattr(programs, variant)
    table = read_symbols(ElfFile(path.read_bytes()))
    lines = programs.run("objdump", "-d", str(path)).splitlines()
    heads = [line.split() for line in lines if line.endswith("@plt>:")]
    theirs = {name.strip("<>:"): int(address, 16) for address, name in heads}
    assert theirs
    for name, address in theirs.items():
        assert find(table, address + 6) == name


def test_a_stripped_program_has_names_of_stubs_only(programs) -> None:
    table = read_symbols(ElfFile(programs.stripped("bare").read_bytes()))
    assert table.is_stripped
    assert all(table.symbol(index).name.endswith("@plt") for index in range(len(table)))


def test_embedded_symbols_count(programs) -> None:
    """As Fedora's packages carry them: .symtab, compressed, in a section of its own."""
    programs.run(
        "objcopy", "-S", "--remove-section=.comment", "--keep-symbol=quiet", str(programs.pie), "mini"
    )
    programs.run("xz", "-k", "-f", "mini")
    programs.run(
        "objcopy", "--strip-all", "--add-section=.gnu_debugdata=mini.xz", str(programs.pie), "embedded"
    )
    table = read_symbols(ElfFile((programs.folder / "embedded").read_bytes()))
    names = {table.symbol(index).name for index in range(len(table))}
    assert "quiet" in names
    assert not table.is_stripped


def test_nesting_without_end_is_given_up(programs) -> None:
    depth = 300
    lines = [".text"]
    for level in range(depth):  # f0 holds f1, which holds f2, …; each ends one byte before its holder
        lines += [f".type f{level}, @function", f"f{level}: nop", f".size f{level}, {2 * (depth - level)}"]
    (programs.folder / "nested.s").write_text("\n".join([*lines, f".skip {2 * depth}", ""]))
    programs.run("gcc", "-c", "nested.s", "-o", "nested.o")
    programs.run("gcc", "-shared", "-nostdlib", "nested.o", "-o", "nested.so")
    table = read_symbols(ElfFile((programs.folder / "nested.so").read_bytes()))
    start = next(table.symbol(index).start for index in range(len(table)) if table.symbol(index).name == "f0")
    assert find(table, start + depth) == f"f{depth - 1}"
    assert find(table, start + depth + MAX_NESTING // 2) == f"f{depth - 1 - MAX_NESTING // 2}"
    assert find(table, start + 2 * depth - 1) is None
    assert find(table, start + 2 * depth) is None


def test_a_symbol_table_with_an_empty_string_table_names_nothing(programs) -> None:
    whole = bytearray(programs.pie.read_bytes())
    section_at, count = struct.unpack_from("<Q", whole, 40)[0], struct.unpack_from("<H", whole, 60)[0]
    for at in range(section_at, section_at + 64 * count, 64):
        if struct.unpack_from("<I", whole, at + 4)[0] == SHT_STRTAB:
            struct.pack_into("<Q", whole, at + 32, 0)
    assert len(read_symbols(ElfFile(bytes(whole)))) == 0


@pytest.mark.parametrize(
    ("symbols", "string_bytes", "why"),
    [
        (1, MAX_STRING_BYTES + 1, "The names of its symbols have 268435457 bytes; the limit is 268435456."),
        (1, 200 << 20, "It has 209715200 bytes of names for 2 symbols."),
        (MAX_SYMBOLS, 1 << 24, "Its symbol tables together have more than 3145728 symbols."),
    ],
)
def test_what_exceeds_a_limit_is_not_even_read(
    tmp_path: Path, symbols: int, string_bytes: int, why: str
) -> None:
    path = hostile_elf(tmp_path / "file", build_id=bytes(20), symbols=symbols, string_bytes=string_bytes)
    content = Counted(OpenedFile(path))
    with pytest.raises(MalformedElf, match=f"^{re.escape(why)}$"):
        read_symbols(ElfFile(content))
    assert content.read < 1 << 16


def test_the_limits_are_of_all_files_together(tmp_path: Path) -> None:
    paths = [
        hostile_elf(tmp_path / str(n), build_id=bytes(20), symbols=1 << 18, string_bytes=150 << 20)
        for n in range(2)
    ]
    files = [ElfFile(OpenedFile(path)) for path in paths]
    with pytest.raises(MalformedElf, match="The names of its symbols"):
        read_symbols(*files)


def test_the_longest_name_is_chosen_wherever_in_a_large_table_it_lies() -> None:
    """Ends of names are looked for in a part of the table at a time."""
    chance = random.Random(7)
    symbols, longest = [], {}
    for start in range(TEXT_OFFSET, TEXT_OFFSET + 4000 * 16, 16):
        names = {
            "n" * chance.choice((1, 7, 900, 1100)) + f"{start}_{n}" for n in range(chance.choice((1, 3)))
        }
        symbols += [Symbol(name, start, 16) for name in sorted(names)]
        longest[start] = max(map(len, names))
    chance.shuffle(symbols)
    table = read_symbols(ElfFile(elf_file(bytes(20), symbols)))
    assert sum(len(symbol.name) for symbol in symbols) > 3 << 20
    assert {int(start): len(table.name(index)) for index, start in enumerate(table.starts)} == longest


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60)), max_size=60))
def test_the_innermost_of_any_functions_holds_the_address(spans: list[tuple[int, int]]) -> None:
    symbols = dict(spans)
    starts = np.array(sorted(symbols), np.uint64)
    ends = starts + np.array([symbols[int(start)] for start in starts], np.uint64)
    text = Names([b"x\0"], np.zeros(len(starts), np.int32), np.zeros(len(starts), np.uint64))
    table = SymbolTable(Functions(starts, ends, np.ones(len(starts), np.bool_)), text, is_stripped=False)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(symbol_table, "_AT_ONCE", 3)  # so that there are several parts
        assert len(table.around) == len(starts)
    for address in range(110):
        holding = [start for start, size in symbols.items() if start <= address < start + size]
        index = int(table.find(ElfVaddrs(np.array([address], np.uint64)))[0])
        assert (None if index == MISS else int(starts[index])) == max(holding, default=None)
