import io
import mmap
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from symbolic.debuginfo import Archive

from symbolizer.addresses import CacheAddresses, ElfVaddrs, FileOffsets, Segment, SegmentMap
from symbolizer.builds.built_symbols import BuiltSymbols, open_built_symbols, write_built_symbols
from symbolizer.elf.file import ElfFile
from symbolizer.elf.symtab import read_symbols
from symbolizer.errors import MalformedSymCache
from symbolizer.images.elf_image import ElfImage
from symbolizer.images.image import UnknownImage
from symbolizer.tables.symbol_table import MISS, Functions, Names, SymbolTable
from symbolizer.tables.symcache import SymCache


class Nothing:
    """A SymCache of no function, as `symbolic` makes it."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def dump_into(self, file) -> None:
        file.write(self.content)


@pytest.fixture(scope="session")
def symcache(programs) -> bytes:
    made = next(Archive.open(str(programs.pie)).iter_objects()).make_symcache()
    file = io.BytesIO()
    made.dump_into(file)
    return file.getvalue()


def written(path: Path, symcache: bytes, symbols: SymbolTable, segments: SegmentMap) -> BuiltSymbols:
    with path.open("w+b") as file:
        write_built_symbols(file, Nothing(symcache), symbols, segments, "here")
        return open_built_symbols(file)


def made_table(rows: list[tuple[int, int, bytes]]) -> SymbolTable:
    rows = sorted({start: (start, size, name) for start, size, name in rows}.values())
    starts = np.array([start for start, _, _ in rows], np.uint64)
    sizes = np.array([size for _, size, _ in rows], np.uint64)
    text = b"".join(name + b"\0" for _, _, name in rows)
    at = np.array([0, *np.cumsum([len(name) + 1 for _, _, name in rows])], np.uint64)[:-1]
    return SymbolTable(
        Functions(starts, starts + sizes, sizes > 0),
        Names([text], np.zeros(len(rows), np.int32), at),
        is_stripped=not rows,
    )


tables = st.lists(
    st.tuples(
        st.integers(0, 500),
        st.integers(0, 200),
        st.binary(min_size=1, max_size=6).filter(lambda name: b"\0" not in name),
    ),
    max_size=40,
).map(made_table)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("built")


@settings(max_examples=60, deadline=None)
@given(table=tables)
def test_a_table_is_the_same_read_from_its_file(table: SymbolTable, symcache: bytes, scratch: Path) -> None:
    segments = SegmentMap((Segment(0, 0x400000, 0x1000, True), Segment(0x1000, 0x500000, 7, False)))
    read = written(scratch / "file", symcache, table, segments)
    addresses = ElfVaddrs(np.arange(720, dtype=np.uint64))
    assert read.symbols.find(addresses).tolist() == table.find(addresses).tolist()
    assert [read.symbols.symbol(i) for i in range(len(table))] == [table.symbol(i) for i in range(len(table))]
    assert read.symbols.is_sized.tolist() == table.is_sized.tolist()
    assert read.symbols.is_stripped == table.is_stripped
    assert (read.segments, read.origin) == (segments, "here")


@given(table=tables)
def test_a_name_is_found_where_it_stands_first(table: SymbolTable) -> None:
    names = [table.name(index) for index in range(len(table))]
    for name in {b"nobody", *names}:
        try:
            text = name.decode()
        except UnicodeDecodeError:
            continue
        assert table.find_name(text) == (names.index(name) if name in names else MISS)


def test_a_real_program_answers_the_same_from_its_file(programs, symcache: bytes, tmp_path: Path) -> None:
    elf = ElfFile(programs.pie.read_bytes())
    symbols = read_symbols(elf)
    read = written(tmp_path / "file", symcache, symbols, elf.segment_map)
    offsets = FileOffsets(np.arange(0x3000, dtype=np.uint64))
    ours = ElfImage("pie", read.segments, read.table, read.symbols, "").frames(offsets)
    direct = ElfImage("pie", elf.segment_map, read.table, symbols, "").frames(offsets)
    assert ours.names == direct.names
    assert ours.entries.tolist() == direct.entries.tolist()
    assert ours.status.tolist() == direct.status.tolist()
    assert {function.name for function, _ in ours.names} >= {"work", "cube", "square", "puts@plt"}


def test_a_file_that_was_not_finished_is_none(programs, symcache: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    written(path, symcache, read_symbols(ElfFile(programs.pie.read_bytes())), SegmentMap(()))
    whole = path.read_bytes()
    for size in (0, 10, 40, 64, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with path.open("rb") as file, pytest.raises(MalformedSymCache):
            open_built_symbols(file)


def test_damage_is_noticed_or_harmless(programs, symcache: bytes, tmp_path: Path) -> None:
    elf = ElfFile(programs.pie.read_bytes())
    path = tmp_path / "file"
    written(path, symcache, read_symbols(elf), elf.segment_map)
    whole = path.read_bytes()
    chance = random.Random(11)
    offsets = FileOffsets(np.arange(0x1000, 0x1400, dtype=np.uint64))
    outcomes = {"refused": 0, "repaired": 0, "harmless": 0}
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(8):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            with path.open("rb") as file:
                read = open_built_symbols(file)
        except MalformedSymCache:
            outcomes["refused"] += 1
            continue
        image = ElfImage(
            "pie", read.segments, read.table, read.symbols, "", repaired=lambda: UnknownImage("damaged")
        )
        frames = image.frames(offsets)
        assert len(frames.status) == len(offsets.values)
        outcomes["repaired" if image.reason else "harmless"] += 1
    assert all(outcomes.values()), outcomes


def test_a_symcache_may_lie_anywhere_in_a_file(symcache: bytes, tmp_path: Path) -> None:
    (tmp_path / "amid").write_bytes(bytes(64) + symcache + b"\xff" * 999)
    (tmp_path / "alone").write_bytes(symcache)
    with (tmp_path / "amid").open("rb") as amid, (tmp_path / "alone").open("rb") as file:
        mapped = mmap.mmap(amid.fileno(), 0, prot=mmap.PROT_READ)
        alone = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    addresses = CacheAddresses(np.arange(0x1000, 0x1400, dtype=np.uint64))
    inside, outside = SymCache(mapped, 64, len(symcache)), SymCache(alone)
    assert inside.chains(addresses).locations.tolist() == outside.chains(addresses).locations.tolist()
    with pytest.raises(MalformedSymCache):
        SymCache(mapped, 64, len(symcache) // 2)
