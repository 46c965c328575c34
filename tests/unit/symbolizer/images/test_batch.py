from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from storage.ingest.symbolized import Status
from symbolizer.builds.build import build_input
from symbolizer.builds.outcome import Built
from symbolizer.builds.symcaches import local_symcaches
from symbolizer.elf.file import ElfFile
from symbolizer.files import OpenedFile
from symbolizer.images.batch import SymbolizedBinary
from symbolizer.sources.source import Found


@pytest.fixture(scope="module")
def binary(programs, tmp_path_factory: pytest.TempPathFactory) -> SymbolizedBinary:
    with OpenedFile(programs.fixed) as content:
        found = Found(content, ElfFile(content), "fixed")
        built = local_symcaches(tmp_path_factory.mktemp("cache")).build("fixed", build_input(found, found))
    assert isinstance(built, Built)
    return SymbolizedBinary(built.symbols, name="fixed")


def addresses_of(programs) -> dict[str, int]:
    lines = programs.run("nm", str(programs.fixed)).splitlines()
    return {line.split()[2]: int(line.split()[0], 16) for line in lines if len(line.split()) == 3}


def chain(binary: SymbolizedBinary, address: int, *, exact: bool = True) -> list[str]:
    batch = binary.symbolize(np.array([address], np.uint64), np.array([exact]))
    return [binary.frame(frame).function for frame in batch.frames.tolist()]


def test_each_address_is_answered_where_it_stood(programs, binary: SymbolizedBinary) -> None:
    at = addresses_of(programs)
    asked = np.array([at["work"], 1, at["quiet"], at["work"], at["work"] + 1, 1 << 60], np.uint64)
    batch = binary.symbolize(asked)
    assert batch.distinct.values.tolist() == sorted(set(asked.tolist()))
    assert batch.distinct.values[batch.inverse].tolist() == asked.tolist()
    said = [
        [binary.frame(frame).function for frame in batch.frames[start:end].tolist()]
        for start, end in pairwise(batch.offsets.tolist())
    ]
    outer = [said[i][-1] if said[i] else None for i in batch.inverse.tolist()]
    assert outer == ["work", None, "quiet", "work", "work", None]
    assert batch.status[batch.inverse].tolist() == [
        Status.FULL, Status.BINARY_ONLY, Status.FULL, Status.FULL, Status.FULL, Status.BINARY_ONLY,
    ]  # fmt: skip


def test_inlined_calls_come_first_and_are_marked(programs, binary: SymbolizedBinary) -> None:
    at = addresses_of(programs)
    batch = binary.symbolize(np.arange(at["work"], at["work"] + 64, dtype=np.uint64))
    said = [
        (binary.frame(f).function, inlined)
        for f, inlined in zip(batch.frames.tolist(), batch.is_inlined.tolist(), strict=True)
    ]
    assert {name for name, inlined in said if inlined} == {"square", "cube"}
    assert {name for name, inlined in said if not inlined} == {"work"}


def test_a_return_address_is_looked_up_before_itself(programs, binary: SymbolizedBinary) -> None:
    at = addresses_of(programs)
    after = (
        max(
            address
            for address in range(at["give_up"], at["give_up"] + 64)
            if chain(binary, address)[-1:] == ["give_up"]
        )
        + 1
    )  # abort() is its last call and never returns
    assert chain(binary, after, exact=True)[-1:] != ["give_up"]
    assert chain(binary, after, exact=False) == ["give_up"]


def test_lines_and_where_a_function_begins_are_the_sources(programs, binary: SymbolizedBinary) -> None:
    at = addresses_of(programs)
    source = (programs.folder / "program.c").read_text().splitlines()
    batch = binary.symbolize(np.array([at["work"]], np.uint64))
    frame = binary.frame(int(batch.frames[-1]))
    assert Path(frame.file).name == "program.c"
    begins = next(number for number, line in enumerate(source, 1) if "int work(int n)" in line)
    assert begins <= frame.start_line <= begins + 3
    assert frame.start_file == frame.file


def test_nothing_asked_is_nothing_said(binary: SymbolizedBinary) -> None:
    batch = binary.symbolize(np.zeros(0, np.uint64))
    assert (len(batch.frames), batch.offsets.tolist(), len(batch.is_inlined)) == (0, [0], 0)
