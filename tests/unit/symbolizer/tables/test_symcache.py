import gc
import mmap
import posixpath
import random
import weakref
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from symbolic.debuginfo import Archive
from symbolic.symcache import SYMCACHE_LATEST_VERSION
from symbolic.symcache import SymCache as Library

from symbolizer.addresses import CacheAddresses
from symbolizer.errors import MalformedSymCache
from symbolizer.tables import symcache
from symbolizer.tables.address_table import AddressTable
from symbolizer.tables.library_symcache import LibrarySymCache
from symbolizer.tables.symcache import SUPPORTED_VERSIONS, SymCache, open_symcache

Level = tuple[str, str, int]


def mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)


def make(source: Path, target: Path) -> Path:
    cache = next(Archive.open(str(source)).iter_objects()).make_symcache()
    with target.open("wb") as file:
        cache.dump_into(file)
    return target


def ours(table: AddressTable, addresses: list[int]) -> list[list[Level]]:
    chains = table.chains(CacheAddresses(np.array(addresses, np.uint64)))
    locations = [table.location(index) for index in chains.locations.tolist()]
    levels = [(location.function, location.file, location.line) for location in locations]
    ends = chains.offsets.tolist()
    return [levels[start:end] for start, end in pairwise(ends)]


def theirs(library: Library, address: int) -> list[Level]:
    return [
        (level.symbol, posixpath.normpath(level.full_path) if level.full_path else "", level.line)
        for level in library.lookup(address)
    ]


@pytest.fixture(scope="session")
def small(programs) -> Path:
    return make(programs.pie, programs.folder / "pie.symc")


def test_the_reader_knows_what_the_library_writes() -> None:
    assert SYMCACHE_LATEST_VERSION in SUPPORTED_VERSIONS


def test_every_address_of_a_small_program_is_answered_like_the_library_does(small: Path) -> None:
    library = Library.open(str(small))
    addresses = list(range(0x4000))
    answers = ours(SymCache(mapped(small)), addresses)
    assert answers == [theirs(library, address) for address in addresses]
    assert max(map(len, answers)) == 3  # square in cube in work


@pytest.mark.parametrize("variant", ["fixed", "by_lld"])
def test_addresses_count_from_the_first_segment(programs, variant: str, tmp_path: Path) -> None:
    cache = make(getattr(programs, variant), tmp_path / "cache")
    library = Library.open(str(cache))
    addresses = list(range(0x800, 0x3000, 3))
    assert ours(SymCache(mapped(cache)), addresses) == [theirs(library, address) for address in addresses]
    assert any(ours(SymCache(mapped(cache)), addresses))


def large_debug_file() -> Path:
    """The largest debug file of this machine up to 20 MB: the C library's where it is installed."""
    sizes = {path: path.stat().st_size for path in Path("/usr/lib/debug/.build-id").glob("*/*.debug")}
    usable = {path: size for path, size in sizes.items() if size < 20 << 20}
    if not usable:
        pytest.skip("no debug files below /usr/lib/debug (apt-get install libc6-dbg)")
    return max(usable, key=usable.__getitem__)


def test_a_large_library_is_answered_like_the_library_does(tmp_path: Path) -> None:
    cache = make(large_debug_file(), tmp_path / "cache")
    chance = random.Random(3)
    addresses = [chance.randrange(0x200000) for _ in range(6000)] + [
        0,
        0xFFFFFFFE,
        0xFFFFFFFF,
        1 << 40,
        2**64 - 1,
    ]
    library = Library.open(str(cache))
    expected = [theirs(library, address) if address < 0xFFFFFFFF else [] for address in addresses]
    assert ours(SymCache(mapped(cache)), addresses) == expected
    assert sum(map(bool, expected)) > 1000


def test_the_library_as_a_fallback_answers_the_same(small: Path) -> None:
    addresses = [address for address in range(0x1000, 0x1400) for _ in range(2)]
    reader, fallback = SymCache(mapped(small)), LibrarySymCache(small.read_bytes())
    assert ours(fallback, addresses) == ours(reader, addresses)
    chains = fallback.chains(CacheAddresses(np.array(addresses, np.uint64)))
    same = reader.chains(CacheAddresses(np.array(addresses, np.uint64)))
    assert [fallback.location(i) for i in chains.locations.tolist()] == [
        reader.location(i) for i in same.locations.tolist()
    ]
    assert fallback.named(chains.locations).all()


def test_an_unknown_version_goes_to_the_library(small: Path, tmp_path: Path) -> None:
    newer = bytearray(small.read_bytes())
    newer[4] = 99
    path = tmp_path / "newer"
    path.write_bytes(newer)
    with pytest.raises(MalformedSymCache, match="99"):
        SymCache(mapped(path))
    with pytest.raises(MalformedSymCache):  # which refuses this one, as it is not really newer
        open_symcache(mapped(path))
    assert isinstance(open_symcache(mapped(small)), SymCache)


def test_damage_is_an_error_of_ours_or_harmless(small: Path, tmp_path: Path) -> None:
    whole = small.read_bytes()
    chance = random.Random(5)
    refused = 0
    addresses = CacheAddresses(np.arange(0x1000, 0x1400, dtype=np.uint64))
    for turn in range(300):
        damaged = bytearray(whole)
        for _ in range(6):
            damaged[chance.randrange(8, len(damaged))] = chance.randrange(256)
        if turn % 5 == 0:
            del damaged[chance.randrange(len(damaged)) :]
        path = tmp_path / str(turn)
        path.write_bytes(damaged)
        try:
            table = SymCache(mapped(path))
            chains = table.chains(addresses)
            assert len(table.named(chains.locations)) == len(chains.locations)
            for index in set(chains.locations.tolist()):
                table.location(index)
        except MalformedSymCache:
            refused += 1
    assert 20 < refused < 300


def test_a_reader_nobody_uses_gives_its_mapping_back_at_once(small: Path) -> None:
    """Each holds a descriptor: a worker ran out of them before the next full collection of garbage."""
    gc.disable()
    try:
        reader = SymCache(mapped(small))
        assert any(ours(reader, list(range(0x1000, 0x1400))))
        left = weakref.ref(reader)
        del reader
        assert left() is None
    finally:
        gc.enable()


def test_strings_are_remembered_within_bounds(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = list(range(0x1000, 0x1400))
    reader = SymCache(mapped(small))
    answers = ours(reader, addresses)
    monkeypatch.setattr("symbolizer.tables.symcache.STRINGS_KEPT", 2)
    few = SymCache(mapped(small))
    assert ours(few, addresses) == answers
    assert max(len(few._strings), len(few._paths)) <= 2
    assert len(reader._strings) > 2


def test_long_strings_are_cut(programs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debug data may have a folder of megabytes for a hundred thousand files."""
    folder = programs.folder / ("f" * 200)
    folder.mkdir(exist_ok=True)
    (folder / "long.c").write_text(f"int {'n' * 500}(int n) {{ return n * 3; }}")
    programs.run("gcc", "-g", "-shared", "-fPIC", str(folder / "long.c"), "-o", "long.so")
    path = make(programs.folder / "long.so", programs.folder / "long.symc")

    def longest() -> tuple[int, int]:
        levels = [level for levels in ours(SymCache(mapped(path)), list(range(0x2000))) for level in levels]
        return max(len(name) for name, _, _ in levels), max(len(file) for _, file, _ in levels)

    assert longest() == (500, len(str(folder / "long.c")))
    monkeypatch.setattr(symcache, "MAX_NAME_BYTES", 300)
    monkeypatch.setattr(symcache, "_LONGEST_PATH", 100)
    name, file = longest()
    assert name == 300
    assert file <= 100 + len("/long.c")
