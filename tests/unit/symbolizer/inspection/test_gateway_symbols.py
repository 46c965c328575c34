"""GIVEN what a gateway sent WHEN it is a kernel's table THEN it is kept for its kernel and modules, and for nothing else."""

import struct
from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import Engine

from gateway.process.images import own_vdso
from storage.archive import Archive
from storage.binaries import SeenBinary
from storage.symbols.answers import Standing, Verdict
from storage.symbols.candidates import Candidate
from storage.symbols.requests import WantedBinary
from symbolizer.elf.file import ElfFile
from symbolizer.elf.records import SHF_EXECINSTR
from symbolizer.inspection import gateway_symbols
from symbolizer.inspection.gateway_symbols import RejectedSymbols, Sender, StoredSymbols, receive_symbols
from symbolizer.inspection.inspection import inspect
from symbolizer.kernel.kallsyms import LoadedModule, table_of_boot
from symbolizer.sources.running_kernel import MAX_VDSO_BYTES

BUILD, MODULE, PROGRAM = b"\x07" * 20, "aa" * 20, "bb" * 20
VDSO = own_vdso()
VDSO_KEY = ElfFile(VDSO).build_id.hex()
KERNEL = "ffffffff81000000 T _stext\nffffffff81000040 T vfs_read\nffffffff81001000 T _etext\n"


class Database:
    """As an engine: nothing is asked of it here."""

    def connect(self) -> nullcontext[None]:
        return nullcontext()

    begin = connect


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> list[Candidate]:
    """Candidates that were added; a module and a program are wanted."""
    added: list[Candidate] = []
    wants = [
        WantedBinary(MODULE, "[ext4]", "", "module", 5),
        WantedBinary(PROGRAM, "shop-server", "/srv/shop-server", "file", 50),
    ]
    monkeypatch.setattr(gateway_symbols.candidates, "add", lambda _engine, _archive, one: added.append(one))
    monkeypatch.setattr(gateway_symbols.requests, "wanted", lambda _connection, **_how: wants)
    seen = {
        PROGRAM: SeenBinary("shop-server", "/srv/shop-server", "file"),
        BUILD.hex(): SeenBinary("[kernel]", "", "kernel"),
        VDSO_KEY: SeenBinary("[vdso]", "[vdso]", "vdso"),
    }
    monkeypatch.setattr(gateway_symbols, "find_binary", lambda _connection, key: seen.get(key))
    monkeypatch.setattr(gateway_symbols.answers, "ran", lambda _connection, _machine, key: key == BUILD.hex())
    monkeypatch.setattr(
        gateway_symbols.answers, "held_elsewhere", lambda _connection, _machine, _keys: frozenset()
    )
    alone = Verdict(Standing.ALONE, (), {})
    monkeypatch.setattr(gateway_symbols.answers, "weigh", lambda _connection, _said: alone)
    monkeypatch.setattr(gateway_symbols, "inspect_in_child", lambda path: inspect(path.read_bytes()))
    return added


def arrive(tmp_path: Path, content: bytes, wanted: str = BUILD.hex()) -> StoredSymbols | RejectedSymbols:
    path = tmp_path / "answer"
    path.write_bytes(content)
    engine, archive = cast("Engine", Database()), cast("Archive", None)
    return receive_symbols(engine, archive, path, wanted=wanted, name="[kernel]", sender=Sender(1, "node7"))


def table(*modules: tuple[str, str]) -> bytes:
    return table_of_boot(KERNEL.encode(), BUILD, [LoadedModule(name, build, 0, 0) for name, build in modules])


def test_a_table_is_kept_for_modules_and_no_program(tmp_path: Path, kept: list[Candidate]):
    hostile = table(("ext4", MODULE), ("x", PROGRAM))
    assert arrive(tmp_path, hostile) == StoredSymbols((BUILD.hex(), MODULE), Standing.ALONE)
    assert {(one.origin, one.machine_id) for one in kept} == {("one machine: node7", 1)}
    assert [one.binary_key for one in kept] == [BUILD.hex(), MODULE]


def test_a_kernel_of_one_machine_names_no_module_that_another_runs(
    tmp_path: Path, kept: list[Candidate], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        gateway_symbols.answers,
        "held_elsewhere",
        lambda _connection, machine, _keys: {1: frozenset({MODULE})}[machine],
    )
    assert arrive(tmp_path, table(("ext4", MODULE))) == StoredSymbols((BUILD.hex(),), Standing.ALONE)
    assert [one.binary_key for one in kept] == [BUILD.hex()]
    seen = {MODULE: SeenBinary("[ext4]", "", "module")}
    monkeypatch.setattr(gateway_symbols, "find_binary", lambda _connection, key: seen.get(key))
    taken = arrive(tmp_path, table(("ext4", MODULE)), MODULE)
    assert isinstance(taken, StoredSymbols)
    assert (taken.keys, taken.standing) == ((BUILD.hex(),), Standing.UNCONFIRMED)
    assert "another machine" in taken.reason


def test_a_table_is_no_answer_for_a_program(tmp_path: Path, kept: list[Candidate]):
    assert isinstance(arrive(tmp_path, table(("x", PROGRAM)), PROGRAM), RejectedSymbols)
    assert not kept


def test_a_table_of_many_modules_with_long_names_is_kept(tmp_path: Path, kept: list[Candidate]):
    modules = [(f"{number:0240}", f"{number:040x}") for number in range(5000)]
    assert arrive(tmp_path, table(*modules)) == StoredSymbols((BUILD.hex(),), Standing.ALONE)
    assert len(kept) == 1


def test_addresses_of_one_boot_are_of_no_use(tmp_path: Path, kept: list[Candidate]):
    assert isinstance(arrive(tmp_path, KERNEL.encode()), RejectedSymbols)
    assert not kept


def vdso_with_code_all_over(copies: int, size: int) -> bytes:
    """This machine's vdso with `copies` more sections of code, each of which covers the whole file of `size` bytes."""
    (at,), (each, count) = struct.unpack_from("<Q", VDSO, 0x28), struct.unpack_from("<HH", VDSO, 0x3A)
    code = struct.pack("<IIQQQQIIQQ", 0, 1, SHF_EXECINSTR, 0, 0, size, 0, 0, 1, 0)
    headers = VDSO[at : at + each * count] + code * copies
    content = bytearray(VDSO.ljust(size, b"\xcc") + headers)
    struct.pack_into("<Q", content, 0x28, size)
    struct.pack_into("<H", content, 0x3C, count + copies)
    return bytes(content)


def test_a_vdso_that_is_too_large_for_one_is_not_read(tmp_path: Path, kept: list[Candidate]):
    """Blanking each of these sections would copy 200 GB."""
    taken = arrive(tmp_path, vdso_with_code_all_over(50_000, 4 * MAX_VDSO_BYTES), VDSO_KEY)
    assert isinstance(taken, RejectedSymbols)
    assert f"a vdso has at most {MAX_VDSO_BYTES:,}" in taken.reason
    assert not kept


def test_code_of_a_vdso_is_left_out_and_the_rest_is_kept(tmp_path: Path, kept: list[Candidate]):
    assert arrive(tmp_path, VDSO, VDSO_KEY) == StoredSymbols((VDSO_KEY,), Standing.ALONE)
    content, sections = (tmp_path / "answer").read_bytes(), ElfFile(VDSO).sections
    is_code = bytearray(len(VDSO))
    for section in sections[sections["flags"] & SHF_EXECINSTR != 0]:
        start, size = int(section["offset"]), int(section["size"])
        is_code[start : start + size] = b"\1" * size
    assert any(is_code)
    assert content == bytes(0 if blank else byte for byte, blank in zip(VDSO, is_code, strict=True))
    assert len(kept) == 1


def test_sections_of_a_vdso_that_cover_each_other_are_blanked_once(tmp_path: Path, kept: list[Candidate]):
    size = MAX_VDSO_BYTES // 4
    assert isinstance(arrive(tmp_path, vdso_with_code_all_over(12_000, size), VDSO_KEY), StoredSymbols)
    content = (tmp_path / "answer").read_bytes()
    assert not any(content[:size])
    assert any(content[size:])
