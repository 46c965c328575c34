"""GIVEN what a gateway sent WHEN it is a kernel's table THEN it is kept for its kernel and modules, and for nothing else."""

from contextlib import nullcontext
from pathlib import Path
from typing import cast

import pytest
from sqlalchemy import Engine

from storage.archive import Archive
from storage.binaries import SeenBinary
from storage.symbols.answers import Standing, Verdict
from storage.symbols.asks import WantedBinary
from storage.symbols.candidates import Candidate
from symbolizer.inspection import arrivals
from symbolizer.inspection.arrivals import Arrived, Sender, Useless, take_in
from symbolizer.inspection.inspection import inspect
from symbolizer.kernel.kallsyms import LoadedModule, table_of_boot

BUILD, MODULE, PROGRAM = b"\x07" * 20, "aa" * 20, "bb" * 20
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
    monkeypatch.setattr(arrivals.candidates, "add", lambda _engine, _archive, one: added.append(one))
    monkeypatch.setattr(arrivals.asks, "wanted", lambda _connection, **_how: wants)
    seen = {
        PROGRAM: SeenBinary("shop-server", "/srv/shop-server", "file"),
        BUILD.hex(): SeenBinary("[kernel]", "", "kernel"),
    }
    monkeypatch.setattr(arrivals, "find_binary", lambda _connection, key: seen.get(key))
    monkeypatch.setattr(arrivals.answers, "ran", lambda _connection, _machine, key: key == BUILD.hex())
    alone = Verdict(Standing.ALONE, (), {})
    monkeypatch.setattr(arrivals.answers, "weigh", lambda _connection, _said: alone)
    monkeypatch.setattr(arrivals, "inspect_apart", lambda path: inspect(path.read_bytes()))
    return added


def arrive(tmp_path: Path, content: bytes, wanted: str = BUILD.hex()) -> Arrived | Useless:
    path = tmp_path / "answer"
    path.write_bytes(content)
    engine, archive = cast("Engine", Database()), cast("Archive", None)
    return take_in(engine, archive, path, wanted=wanted, name="[kernel]", sender=Sender(1, "node7"))


def table(*modules: tuple[str, str]) -> bytes:
    return table_of_boot(KERNEL.encode(), BUILD, [LoadedModule(name, build, 0, 0) for name, build in modules])


def test_a_table_is_kept_for_modules_and_no_program(tmp_path: Path, kept: list[Candidate]):
    hostile = table(("ext4", MODULE), ("x", PROGRAM))
    assert arrive(tmp_path, hostile) == Arrived((BUILD.hex(), MODULE), Standing.ALONE)
    assert {(one.origin, one.machine_id) for one in kept} == {("one machine: node7", 1)}
    assert [one.binary_key for one in kept] == [BUILD.hex(), MODULE]


def test_a_table_is_no_answer_for_a_program(tmp_path: Path, kept: list[Candidate]):
    assert isinstance(arrive(tmp_path, table(("x", PROGRAM)), PROGRAM), Useless)
    assert not kept


def test_a_table_of_many_modules_with_long_names_is_kept(tmp_path: Path, kept: list[Candidate]):
    modules = [(f"{number:0240}", f"{number:040x}") for number in range(5000)]
    assert arrive(tmp_path, table(*modules)) == Arrived((BUILD.hex(),), Standing.ALONE)
    assert len(kept) == 1


def test_addresses_of_one_boot_are_of_no_use(tmp_path: Path, kept: list[Candidate]):
    assert isinstance(arrive(tmp_path, KERNEL.encode()), Useless)
    assert not kept
